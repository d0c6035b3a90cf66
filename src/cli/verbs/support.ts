import fs from 'node:fs';
import os from 'node:os';
import type { Command } from 'commander';
import { REFUSED_KEPT } from '../../base/limits.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { isoTime } from '../../base/units.ts';
import { visible, visibleLines } from '../../base/visibleText.ts';
import { askBox, askStatus } from '../../control/controlClient.ts';
import { type Box, boxOf, runChecks } from '../../health/checks.ts';
import { SERVICE } from '../../host/serviceSettings.ts';
import { logLineWithoutData, withoutTokens } from '../../host/supportRedaction.ts';
import { askTool } from '../../host/systemTool.ts';
import { type DataOption, withDatabase } from '../../store/db/openDatabase.ts';
import { newestRefused, withRefused } from '../../store/refused/refusedFile.ts';
import { output } from '../options/optionParsers.ts';
import { drawStatus } from '../status/screen.ts';
import { exitWhenPrinted, outputSink, say } from '../terminal/output.ts';
import { PLAIN } from '../terminal/style.ts';
import { variablesOf } from './check.ts';

export async function define(command: Command, loadAll: () => Promise<Command>): Promise<void> {
  const program = await loadAll();
  command
    .addOption(output())
    .addHelpText('after', '\nExample:\n  sudo courtd support -o support.txt')
    .action((_options, command) => support(command.optsWithGlobals(), program));
}

const LOG_LINES = 500;

/** Never a token, a payload or a key: texts that may hold one are left out, and words like tokens are removed from the rest. */
async function support(options: DataOption & { output?: string }, program: Command): Promise<void> {
  const { data } = options;
  const box = boxOf(data, variablesOf(program), await askStatus(data).catch(() => undefined));
  const results = await runChecks(box);
  const sections: readonly (readonly [title: string, lines: readonly string[]])[] = [
    ['versions', versions(program)],
    ['settings', settings(box)],
    ['check', results.map((one) => `${one.level.padEnd(4)} ${one.name}: ${one.message} ${one.advice}`)],
    ['status', await status(box).catch(reasonOf)],
    ['rejections', await rejections(box).catch(reasonOf)],
    ['log', await log()],
  ];
  const text = sections.map(([title, lines]) => `== ${title} ==\n${lines.join('\n')}\n`).join('\n');
  const sink = outputSink(options.output);
  await sink.write(withoutTokens(visibleLines(`courtd support, ${isoTime(Date.now())}\n\n${text}`)));
  sink.commit();
  if (options.output !== undefined) say(`${options.output} is written, without tokens, payloads and keys.`);
  exitWhenPrinted();
}

function versions(program: Command): string[] {
  const file = fs.existsSync('/etc/os-release') ? fs.readFileSync('/etc/os-release', 'utf8') : '';
  const release = /^PRETTY_NAME="?(.*?)"?$/m.exec(file)?.[1] ?? 'unknown';
  const memory = Math.round(os.totalmem() / 1024 ** 2);
  return [
    `courtd ${program.version()}`,
    `node ${process.version}`,
    `system ${release}, ${os.type()} ${os.release()} ${os.arch()}`,
    `processors ${os.cpus().length}, memory ${memory} MiB, up for ${Math.round(os.uptime() / 3600)} h`,
  ];
}

/** The path of a webhook is a secret, and a command may hold one. */
const SECRET = ['COURTD_TOKEN', 'COURTD_ALERT_URL', 'COURTD_ALERT_COMMAND', 'COURTD_PING_URL'];

/** A variable that courtd does not know may hold anything, and a URL may hold a password. */
function settings({ variables, settings, settingsFrom }: Box): string[] {
  const lines = Object.entries(settings).map(([name, value]) => {
    const isShown = variables.isKnown(name) && !SECRET.includes(name);
    return `${name}=${isShown ? value.replace(/:\/\/[^/]*@/g, '://') : '(not shown)'}`;
  });
  return [`from ${settingsFrom}`, ...lines.sort()];
}

/** As people see it, and the counts behind it. */
async function status({ data }: Box): Promise<string[]> {
  const box = await askBox(data);
  const { store, tokens, rates } = box;
  return [...drawStatus(box, PLAIN, Date.now()), JSON.stringify({ store, tokens, rates })];
}

/** Without sentences and bodies, which contain what a camera has sent. */
async function rejections({ data }: Box): Promise<string[]> {
  const all = await withDatabase({ data }, () => withRefused(data, (db) => newestRefused(db, REFUSED_KEPT)));
  const lines = (all ?? []).map(({ at_ms, id, status, code, client, source, court_id, events }) => {
    const camera = `${source ?? '-'} on ${court_id ?? '-'}, events ${events ?? '-'}`;
    return visible(`${isoTime(at_ms)} ${id} ${status} ${code} ${client}, ${camera}`);
  });
  return lines.length === 0 ? ['No request was rejected.'] : lines;
}

function reasonOf(error: unknown): string[] {
  if (!(error instanceof OperatorError)) throw error;
  return [error.message];
}

async function log(): Promise<string[]> {
  const which = [`--unit=${SERVICE}`, `--lines=${LOG_LINES}`, '--quiet', '--no-pager', '--output=json'];
  const { status, stdout } = await askTool('journalctl', ...which);
  const lines = stdout.split('\n').flatMap((line) => logLineWithoutData(line) ?? []);
  if (lines.length > 0) return lines;
  return [status === 0 ? 'The journal has no line of courtd.' : 'The journal cannot be read.'];
}

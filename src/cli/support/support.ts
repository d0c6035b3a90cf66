import fs from 'node:fs';
import os from 'node:os';
import type { Command } from 'commander';
import { fileSink } from '../../base/fileSink.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { isoTime } from '../../base/units.ts';
import { visible, visibleLines } from '../../base/visibleText.ts';
import { askStatus } from '../../control/controlClient.ts';
import { flushRefused, reportOf } from '../../control/rejectionRoutes.ts';
import { type Box, boxOf, runChecks } from '../../health/checks.ts';
import { logLineWithoutData, withoutTokens } from '../../host/supportRedaction.ts';
import { askTool } from '../../host/systemTool.ts';
import { SERVICE } from '../../host/unitSettings.ts';
import { lacksDatabase } from '../../store/directory/newDatabase.ts';
import { noDatabase } from '../../store/open/openErrors.ts';
import { type DataOption, withDatabase } from '../../store/open/withDatabase.ts';
import { readRejections } from '../../store/rejections/storedRejections.ts';
import { plainStatus } from '../status/views.ts';
import { exitWhenPrinted, say, stdoutSink } from '../terminal/output.ts';
import { variablesOf } from '../verbs/check.ts';

interface SupportOptions extends DataOption {
  readonly output?: string;
}

const LOG_LINES = 500;

/**
 * `courtd support`: one text file for support. Never a token, a payload or a key: what may hold one is left out, and what looks like a
 * token is taken out of all that is left.
 */
export async function support(options: SupportOptions, program: Command): Promise<void> {
  const { data } = options;
  if (lacksDatabase(data)) throw noDatabase(data);
  const daemon = await askStatus(data).catch(() => undefined);
  const box = await boxOf(data, variablesOf(program), daemon);
  const sections: readonly (readonly [title: string, lines: readonly string[]])[] = [
    ['versions', versions(program)],
    ['settings', settings(box)],
    ['check', await checks(box)],
    ['status', await plainStatus(box.data).catch(reasonOf)],
    ['rejections', await rejections(box).catch(reasonOf)],
    ['files', files(box)],
    ['log', await log()],
  ];
  const text = sections.map(([title, lines]) => `== ${title} ==\n${lines.join('\n')}\n`).join('\n');
  const sink = options.output === undefined ? stdoutSink() : fileSink(options.output);
  await sink.write(withoutTokens(visibleLines(`courtd support, ${isoTime(Date.now())}\n\n${text}`)));
  sink.commit();
  if (options.output !== undefined)
    say(`${options.output} is written: no token, no payload and no key is in it.`);
  exitWhenPrinted();
}

function versions(program: Command): string[] {
  const release = /^PRETTY_NAME="?(.*?)"?$/m.exec(readOsRelease())?.[1] ?? 'unknown';
  return [
    `courtd ${program.version()}`,
    `node ${process.version}`,
    `system ${release}, ${os.type()} ${os.release()} ${os.arch()}`,
    `processors ${os.cpus().length}, memory ${Math.round(os.totalmem() / 1024 ** 2)} MiB, up for ${Math.round(os.uptime() / 3600)} h`,
  ];
}

function readOsRelease(): string {
  try {
    return fs.readFileSync('/etc/os-release', 'utf8');
  } catch {
    return '';
  }
}

/** The path of a webhook is a secret, and a command may hold one. */
const SECRET = ['COURTD_TOKEN', 'COURTD_ALERT_URL', 'COURTD_ALERT_COMMAND', 'COURTD_PING_URL'];

/** A variable that courtd does not know may hold anything, and a URL may hold a password. */
function settings({ variables, settings, settingsFrom }: Box): string[] {
  const lines = Object.entries(settings).map(([name, value]) => {
    if (!variables.isKnown(name)) return `${name}=(not shown: courtd does not know it)`;
    if (SECRET.includes(name)) return `${name}=(not shown: it may hold a secret)`;
    return `${name}=${value.replace(/:\/\/[^/]*@/g, '://')}`;
  });
  return [`from ${settingsFrom}`, ...lines.sort()];
}

async function checks(box: Box): Promise<string[]> {
  const results = await runChecks(box);
  return results.map(({ name, level, message, advice }) =>
    `${level.padEnd(4)} ${name}: ${message} ${advice}`.trimEnd(),
  );
}

/** Without sentences and bodies, which contain what a camera has sent. */
async function rejections({ data }: Box): Promise<string[]> {
  await flushRefused(data);
  const stored = await withDatabase({ data }, (db) => readRejections(db).reverse());
  const lines = stored.map(reportOf).map(({ at, id, status, code, client, ...more }) => {
    const { source, court_id, events } = more;
    return `${at} ${id} ${status} ${code} ${client}, ${source ?? '-'} on ${court_id ?? '-'}, events ${events ?? '-'}`;
  });
  return lines.length === 0 ? ['No request was refused.'] : lines.map(visible);
}

function reasonOf(error: unknown): string[] {
  if (!(error instanceof OperatorError)) throw error;
  return [error.message];
}

/** Names, sizes and rights of what is courtd's own. */
function files({ data }: Box): string[] {
  try {
    return ['.', ...data.ownNames()].map((name) => {
      const stat = fs.lstatSync(data.at(name), { throwIfNoEntry: false });
      return stat === undefined
        ? `${name} (gone)`
        : `${(stat.mode & 0o7777).toString(8)} ${stat.uid}:${stat.gid} ${stat.size} ${name}`;
    });
  } catch (error) {
    return [`They cannot be listed (${(error as NodeJS.ErrnoException).code}).`];
  }
}

async function log(): Promise<string[]> {
  const which = [`--unit=${SERVICE}`, `--lines=${LOG_LINES}`];
  const { status, stdout } = await askTool('journalctl', ...which, '--quiet', '--no-pager', '--output=json');
  const lines = stdout.split('\n').flatMap((line) => logLineWithoutData(line) ?? []);
  if (lines.length > 0) return lines;
  return [
    status === 0 ? 'The journal has no line of courtd.' : 'The journal cannot be read, or there is none.',
  ];
}

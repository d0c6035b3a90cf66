import { once } from 'node:events';
import type { Command } from 'commander';
import { fileSink } from '../../base/atomicFile.ts';
import { PORT } from '../../base/limits.ts';
import { abortOnSignal } from '../../base/signals.ts';
import { listenFailure } from '../../host/listenFailure.ts';
import { judge } from '../../vendor/conformance/judge.ts';
import { TestBox } from '../../vendor/conformance/testBox.ts';
import { integer, notEmpty, output } from '../options/optionParsers.ts';
import { printJson, printNow, say } from '../terminal/output.ts';

const HELP = `
Give the camera the token that is printed first, alone on its line. Let it send
for two minutes, and press Ctrl-C while it is still sending: then the verdict is
printed as JSON. Nothing is stored. The exit status is 1 if a check fails.

Examples:
  courtd conformance -o verdict.json
  courtd conformance --host 0.0.0.0 --port 4001`;

interface ConformanceOptions {
  readonly host: string;
  readonly port: number;
  readonly output?: string;
}

export function define(command: Command): void {
  command
    .option('--host <address>', 'the address to listen on', notEmpty, '127.0.0.1')
    .option('--port <number>', 'the port; 0 picks one', integer(0, 65_535), PORT)
    .addOption(output('also write the verdict to a file'))
    .addHelpText('after', HELP)
    .action(conformance);
}

/** @throws {OperatorError} if it cannot listen, or the verdict cannot be written. */
async function conformance({ host, port, output }: ConformanceOptions): Promise<void> {
  const told = new Set<string>();
  const box = new TestBox(({ status, code, message }) => {
    if (!told.has(code)) say(`courtd: a request was rejected with ${status}, not on purpose: ${message}`);
    told.add(code);
  });
  const bound = await box.listen(host, port).catch((error: unknown) => {
    throw listenFailure(error, host, port) ?? error;
  });
  const ended = once(abortOnSignal(), 'abort');
  printNow(`${box.token}\n`);
  say(`courtd: the test box listens on ${host} port ${bound}. Ctrl-C prints the verdict.`);
  await ended;
  const verdict = judge(box.recording);
  box.close();
  printJson(verdict);
  if (verdict.checks.some((check) => check.verdict === 'fail')) process.exitCode = 1;
  if (output === undefined) return;
  const sink = fileSink(output);
  await sink.write(`${JSON.stringify(verdict, null, 2)}\n`);
  sink.commit();
  say(`courtd: verdict written to ${output}.`);
}

import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { fileSink } from '../../base/fileSink.ts';
import { cannotWrite, OperatorError } from '../../base/operatorError.ts';
import { abortOnSignal } from '../../base/signals.ts';
import { counted } from '../../base/units.ts';
import { listenFailure } from '../../host/listenFailure.ts';
import { judge, type Verdict } from '../../vendor/conformance/judge.ts';
import { verdictPage } from '../../vendor/conformance/page.ts';
import { startTestBox } from '../../vendor/conformance/testBox.ts';
import { testedSentences } from '../../vendor/conformance/testedSentences.ts';
import { exitWhenPrinted, Progress, printNow, printText, say } from '../terminal/output.ts';

interface ConformanceOptions {
  readonly host: string;
  readonly port: number;
  readonly camera?: string;
  readonly restart?: boolean;
  readonly output?: readonly string[];
}

const PROGRESS_MS = 1_000;
/** For switching a camera off and on again. */
const RESTART_MS = 120_000;

/**
 * `courtd conformance`: a box that tests cameras until SIGINT or SIGTERM, and then prints the verdict.
 * @throws {OperatorError} where it cannot listen, or a verdict cannot be written.
 */
export async function conformance(options: ConformanceOptions): Promise<void> {
  const { host, port, camera, restart = false, output = [] } = options;
  for (const file of output) assertWritable(file);
  const ended = once(abortOnSignal(), 'abort');
  const box = await startTestBox(host, port, say, restart ? RESTART_MS : undefined).catch(async (error) => {
    throw listenFailure(error, host, port) ?? error;
  });
  process.once('exit', () => box.remove());
  printNow(`${box.token}\n`);
  say(
    `courtd: a box that tests cameras listens on ${host} port ${box.port}, with the token above. End it with Ctrl-C to see the verdict.`,
  );
  const progress = new Progress();
  const timer = setInterval(
    () => progress.show(() => `${counted(box.recorder.recording.exchanges.length, 'request')} so far`),
    PROGRESS_MS,
  );
  await ended;
  clearInterval(timer);
  progress.clear();
  const { recording } = box.recorder;
  const verdict = judge(recording, restart);
  const tested = testedSentences(recording, camera, Date.now());
  if (box.recorder.isFull)
    say(
      `courtd: only the first ${counted(recording.exchanges.length, 'request')} were judged: a run of two minutes is enough.`,
    );
  printText(`${tested.join('\n')}\n\n${verdictText(verdict)}`);
  for (const file of output) await write(file, verdict, tested);
  // The server and the store are still open, but need no clean shutdown.
  const hasFailed = verdict.checks.some((check) => check.verdict === 'fail');
  exitWhenPrinted(hasFailed ? 1 : 0);
}

function assertWritable(file: string): void {
  try {
    fs.accessSync(path.dirname(file), fs.constants.W_OK);
  } catch (error) {
    throw new OperatorError(
      `${cannotWrite(file, error as NodeJS.ErrnoException)} Name another file with -o.`,
    );
  }
}

async function write(file: string, verdict: Verdict, tested: readonly string[]): Promise<void> {
  const sink = fileSink(file);
  await sink.write(
    file.endsWith('.html') ? verdictPage(verdict, tested) : `${JSON.stringify(verdict, null, 2)}\n`,
  );
  sink.commit();
  say(`courtd: verdict written to ${file}.`);
}

function verdictText({ certificate, checks }: Verdict): string {
  const width = Math.max(...checks.map(({ name }) => name.length));
  const lines = checks.map(
    ({ name, verdict, message }) => `${verdict.padEnd(8)}  ${name.padEnd(width)}  ${message}\n`,
  );
  const end = certificate
    ? 'CERTIFIED: every check has passed.\n'
    : 'No certificate: it takes a pass in every check.\n';
  return `${lines.join('')}\n${end}`;
}

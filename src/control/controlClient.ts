import { once } from 'node:events';
import type { IncomingMessage, RequestOptions } from 'node:http';
import readline from 'node:readline';
import { json } from 'node:stream/consumers';
import type { DataDirectory } from '../base/dataDirectory.ts';
import { http } from '../base/nodeHttp.ts';
import { OperatorError } from '../base/operatorError.ts';
import type { DaemonStatus, Status } from '../health/boxStatus.ts';
import { statusWithoutDaemon } from '../health/makeStatus.ts';
import { given, serviceOf } from '../host/serviceSettings.ts';
import type { EventRules } from '../protocol/validate.ts';
import { isServed } from '../store/db/directoryLock.ts';
import { lacksDatabase } from '../store/db/newDatabase.ts';
import { noDatabase } from '../store/db/openErrors.ts';
import type { StepProgress } from '../store/keep/steps.ts';
import { checkSocketFile } from './controlSocket.ts';
import type { WorkLine } from './workRoutes.ts';

/** The path of `DaemonStatus`. */
export const STATUS_PATH = '/v1/status';

/** How long the daemon may be silent: one that waits for its disk answers nothing. */
const ANSWER_MS = 5_000;

/** Nobody answers there: no daemon runs, or it was killed, or it is just starting or ending. */
const NOBODY = ['ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE'];

/**
 * Asks the daemon of a data directory. Root must have become the owner of the directory before, as it does when it opens the
 * database there.
 * @returns the answer as a value; undefined if no daemon runs.
 * @throws {OperatorError} if the socket is closed to this user, is no socket, nobody answers behind it, or not the daemon does.
 */
export async function askDaemon<Answer>(data: DataDirectory, path: string): Promise<Answer | undefined> {
  const response = await send(data, { path, signal: AbortSignal.timeout(2 * ANSWER_MS) });
  try {
    return response && ((await json(response)) as Answer);
  } catch (error) {
    if (isNobody(error)) return undefined;
    throw notTheDaemon(data);
  }
}

/** Asks the daemon how it is: see askDaemon. */
export function askStatus(data: DataDirectory): Promise<DaemonStatus | undefined> {
  return askDaemon(data, STATUS_PATH);
}

/**
 * @returns what the daemon says of the box; what the data directory shows if it does not answer.
 * @throws {OperatorError} if there is no database, or this user may not look.
 */
export async function askBox(data: DataDirectory): Promise<Status> {
  let daemon: DaemonStatus | undefined;
  try {
    daemon = await askStatus(data);
  } catch (error) {
    if (!(error instanceof DaemonHangs)) throw error;
  }
  return daemon?.status ?? statusWithoutDaemon(data, isServed(data));
}

/** @returns the answer, once it begins with 200; undefined if no daemon runs. @throws {OperatorError} for every other failure. */
async function send(
  data: DataDirectory,
  options: RequestOptions,
  body?: string,
): Promise<IncomingMessage | undefined> {
  const socketPath = data.file('controlSocket');
  checkSocketFile(socketPath);
  const request = http.request({ ...options, socketPath, agent: false });
  request.setTimeout(ANSWER_MS, () => request.destroy(new DaemonHangs(data)));
  request.end(body);
  try {
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    // The answer itself says that it is cut short.
    request.on('error', () => {});
    if (response.statusCode === 200) return response;
    request.destroy();
    throw new OperatorError(
      `The daemon of ${data} does not know this (${response.statusCode}), so it is of another version. Run "sudo systemctl restart courtd".`,
    );
  } catch (error) {
    if (isNobody(error)) return undefined;
    if (error instanceof OperatorError) throw error;
    if (!['EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) throw notTheDaemon(data);
    throw new OperatorError(
      `${socketPath} is not accessible to this user. Use sudo, or join the group of the data directory.`,
    );
  }
}

function isNobody(error: unknown): boolean {
  return NOBODY.includes((error as NodeJS.ErrnoException).code ?? '');
}

function notTheDaemon(data: DataDirectory): OperatorError {
  return new OperatorError(
    `Another program than courtd answers at ${data.file('controlSocket')}. Find it with "sudo ss -xlp", end it, and start courtd again.`,
  );
}

/** The daemon exists and does not answer. */
class DaemonHangs extends OperatorError {
  constructor(directory: DataDirectory) {
    super(
      `The daemon of ${directory} runs, but has not answered for ${ANSWER_MS / 1_000} s: its disk may be stalled. Run "journalctl -u courtd" to see its log.`,
    );
  }
}

/** @throws {OperatorError} if no daemon runs: only the daemon writes. */
export async function assertDaemonRuns(data: DataDirectory): Promise<void> {
  if ((await askStatus(data)) === undefined) throw notRunning(data);
}

/** @returns the error of a command that needs the daemon. */
export function notRunning(data: DataDirectory): OperatorError {
  if (lacksDatabase(data)) return noDatabase(data);
  return new OperatorError(
    `The daemon of ${data} does not run, and this command needs it. Start it ("sudo systemctl start courtd"), and repeat the command.`,
  );
}

/**
 * Has the daemon do work that takes a while and that ends with this process. Once it has begun to answer it is waited for, however
 * long it is silent.
 * @param path of its route (workRoutes.ts), and `request` is what it is asked with.
 * @param on is called with how far it is.
 * @throws {OperatorError} if no daemon runs, or if it cannot do that: what it has done stays done.
 */
export async function haveDone<Result>(
  data: DataDirectory,
  path: string,
  request: object,
  on: StepProgress,
): Promise<Result> {
  const body = JSON.stringify(request);
  const headers = { 'Content-Length': Buffer.byteLength(body) };
  const response = await send(data, { path, method: 'POST', headers }, body);
  if (response === undefined) throw notRunning(data);
  // It is at work. A sync may take it longer than ANSWER_MS; systemd's watchdog ends a daemon that hangs, and with it this answer.
  response.setTimeout(0);
  try {
    for await (const text of readline.createInterface({ input: response })) {
      const line: WorkLine<Result> = JSON.parse(text);
      if ('failed' in line) throw new OperatorError(line.failed);
      if ('done' in line) return line.done;
      on(line.doing, line.count);
    }
  } catch (error) {
    if (error instanceof OperatorError) throw error;
  }
  throw new OperatorError(
    `The daemon of ${data} ended before the work was done. See "journalctl -u courtd", and repeat the command: it continues.`,
  );
}

/** What the daemon of this box demands of every event: it says so itself, or its settings do while it is down. */
export async function rulesOf(data: DataDirectory): Promise<EventRules> {
  // Whatever keeps it from answering, its settings are known.
  const daemon = await askStatus(data).catch(() => undefined);
  const venue = daemon ? daemon.venue : (given().COURTD_VENUE ?? serviceOf(data).settings.COURTD_VENUE);
  return typeof venue === 'string' ? { venue } : {};
}

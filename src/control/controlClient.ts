import { once } from 'node:events';
import type { IncomingMessage, RequestOptions } from 'node:http';
import readline from 'node:readline';
import { text } from 'node:stream/consumers';
import type { DataDirectory } from '../base/dataDirectory.ts';
import { http } from '../base/nodeHttp.ts';
import { OperatorError } from '../base/operatorError.ts';
import type { DaemonStatus, Status } from '../health/boxStatus.ts';
import { statusWithoutDaemon } from '../health/makeStatus.ts';
import { given, serviceOf } from '../host/serviceSettings.ts';
import type { EventRules } from '../protocol/validate.ts';
import { isServed } from '../store/db/directoryLock.ts';
import { assertDatabase } from '../store/db/openDatabase.ts';
import type { StepProgress } from '../store/keep/steps.ts';
import type { WorkLine } from './workRoutes.ts';

/** The path of `DaemonStatus`. */
export const STATUS_PATH = '/v1/status';

/** How long the daemon may be silent: one that waits for its disk answers nothing. */
const ANSWER_MS = 5_000;

/**
 * Asks the daemon of a data directory. Root must have become the owner of the directory before, as it does when it opens the
 * database there.
 * @returns the answer as a value; undefined if no daemon answers.
 * @throws {OperatorError} if the socket is closed to this user.
 */
export async function askDaemon<Answer>(data: DataDirectory, path: string): Promise<Answer | undefined> {
  const response = await send(data, { path });
  try {
    return response && JSON.parse(await text(response));
  } catch {
    // Cut short, or of another program.
    return undefined;
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
  return (await askStatus(data))?.status ?? statusWithoutDaemon(data, isServed(data));
}

/** @returns an answer of the daemon that begins with 200; undefined if there is none. @throws as askDaemon. */
async function send(
  data: DataDirectory,
  options: RequestOptions,
  body?: string,
): Promise<IncomingMessage | undefined> {
  const socketPath = data.file('controlSocket');
  const request = http.request({ ...options, socketPath, agent: false });
  request.setTimeout(ANSWER_MS, () => request.destroy(new Error('no answer in time')));
  request.end(body);
  try {
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    // The answer itself says that it is cut short.
    request.on('error', () => {});
    if (response.statusCode === 200) return response;
    request.destroy();
    return undefined;
  } catch (error) {
    if (!['EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw new OperatorError(
      `${socketPath} is not accessible to this user. Use sudo, or join the group of the data directory.`,
    );
  }
}

/** @throws {OperatorError} if no daemon answers: only the daemon writes. */
export async function assertDaemonRuns(data: DataDirectory): Promise<void> {
  if ((await askStatus(data)) === undefined) throw notRunning(data);
}

/** @returns the error of a command that needs the daemon, which does not answer. @throws {OperatorError} if there is no database. */
export function notRunning(data: DataDirectory): OperatorError {
  assertDatabase(data);
  if (isServed(data)) {
    return new OperatorError(
      `The daemon of ${data} runs, but does not answer. See "journalctl -u courtd", run "sudo systemctl restart courtd", and repeat the command.`,
    );
  }
  return new OperatorError(
    `The daemon of ${data} does not run, and this command needs it. Start it ("sudo systemctl start courtd", or "courtd serve" if systemd does not run it), and repeat the command.`,
  );
}

/**
 * Has the daemon do work that takes a while and that ends with this process. Once it has begun to answer it is waited for, however
 * long it is silent.
 * @param path of its route (workRoutes.ts), and `request` is what it is asked with.
 * @param on is called with how far it is.
 * @throws {OperatorError} if no daemon answers, or if it cannot do that: finished steps are not undone.
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
    for await (const line of readline.createInterface({ input: response })) {
      const { events, done, failed }: WorkLine<Result> = JSON.parse(line);
      if (failed !== undefined) throw new OperatorError(failed);
      if (done !== undefined) return done;
      if (events !== undefined) on(events);
    }
  } catch (error) {
    if (error instanceof OperatorError) throw error;
  }
  throw new OperatorError(
    `The daemon of ${data} ended before the work was done. See "journalctl -u courtd", and repeat the command: it continues.`,
  );
}

/** The rules of this box's daemon for events: from the daemon itself, or from its settings while it is down. */
export async function rulesOf(data: DataDirectory): Promise<EventRules> {
  // Whatever keeps it from answering, its settings are known.
  const daemon = await askStatus(data).catch(() => undefined);
  const venue = daemon ? daemon.venue : (given().COURTD_VENUE ?? serviceOf(data).settings.COURTD_VENUE);
  return typeof venue === 'string' ? { venue } : {};
}

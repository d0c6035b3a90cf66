import type { DataDirectory } from '../base/dataDirectory.ts';
import { type HttpAnswer, requestAnswer } from '../base/httpAnswer.ts';
import { OperatorError } from '../base/operatorError.ts';
import { statusWithoutDaemon } from '../health/makeStatus.ts';
import type { DaemonStatus, Status } from '../health/status.ts';
import { isServed } from '../store/directory/directoryLock.ts';
import { checkSocketFile } from './controlSocket.ts';

/** The path of `DaemonStatus`. */
export const STATUS_PATH = '/v1/status';

/** How long the daemon may take to answer: one that waits for its disk answers nothing. */
export const ANSWER_MS = 5_000;
/** A process that may write to the directory may answer in the place of the daemon, whose largest answer has 6 MB. */
const LIMITS = { waits: 2, chars: 16 * 1024 ** 2 } as const;

/** Nobody answers there: no daemon runs, or it was killed, or it is just starting or ending. */
const NOBODY = ['ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE'];

/**
 * Asks the daemon of a data directory. Root must have become the owner of the directory before, as it does when it opens the
 * database there.
 * @param answerMs how long it may take.
 * @returns the answer as a value; undefined if no daemon runs.
 * @throws {OperatorError} if the socket is closed to this user, is no socket, nobody answers behind it, or not the daemon does.
 */
export async function askDaemon<Answer>(
  directory: DataDirectory,
  path: string,
  answerMs = ANSWER_MS,
  method: 'GET' | 'POST' = 'GET',
): Promise<Answer | undefined> {
  const socketPath = directory.file('controlSocket');
  checkSocketFile(socketPath);
  let answer: HttpAnswer;
  try {
    const limits = { wholeMs: LIMITS.waits * answerMs, chars: LIMITS.chars };
    const options = { socketPath, path, method, agent: false, timeout: answerMs };
    answer = await requestAnswer(options, undefined, limits);
  } catch (error) {
    return explainFailure(error, directory, answerMs) || undefined;
  }
  if (answer.status !== 200) throw unknownAnswer(directory, answer.status);
  try {
    return JSON.parse(answer.body);
  } catch {
    throw notTheDaemon(socketPath);
  }
}

/** Asks the daemon how it is: see askDaemon. */
export function askStatus(directory: DataDirectory): Promise<DaemonStatus | undefined> {
  return askDaemon(directory, STATUS_PATH);
}

/**
 * @returns what the daemon says of the box; what the data directory shows if it does not answer.
 * @throws {OperatorError} if there is no database, or this user may not look.
 */
export async function askBox(directory: DataDirectory): Promise<Status> {
  let daemon: DaemonStatus | undefined;
  try {
    daemon = await askStatus(directory);
  } catch (error) {
    if (!(error instanceof DaemonHangs)) throw error;
  }
  if (daemon === undefined) return statusWithoutDaemon(directory, isServed(directory));
  if (daemon.status !== undefined) return daemon.status;
  throw new OperatorError(
    `The daemon of ${directory} runs an older version, ${daemon.version}. Run "sudo systemctl restart courtd".`,
  );
}

/** @returns false if no daemon runs. @throws {OperatorError} for every other failure. */
export function explainFailure(error: unknown, directory: DataDirectory, answerMs = ANSWER_MS): false {
  const { code = '' } = error as NodeJS.ErrnoException;
  if (error instanceof OperatorError) throw error;
  if (NOBODY.includes(code)) return false;
  if (code === 'ETIMEDOUT') throw new DaemonHangs(directory, answerMs);
  if (code !== 'EACCES' && code !== 'EPERM') throw notTheDaemon(directory.file('controlSocket'));
  throw new OperatorError(
    `${directory.file('controlSocket')} is not accessible to this user: use sudo, or join the group of the data directory.`,
  );
}

function notTheDaemon(socketPath: string): OperatorError {
  return new OperatorError(
    `Another program than courtd answers at ${socketPath}. Find it with "sudo ss -xlp", end it, and start courtd again.`,
  );
}

/** The daemon has no such request. */
export function unknownAnswer(directory: DataDirectory, status: number | undefined): OperatorError {
  return new OperatorError(
    `The daemon of ${directory} does not know this (${status}): it may be of another version; restart it ("sudo systemctl restart courtd").`,
  );
}

/** The daemon exists and does not answer. */
export class DaemonHangs extends OperatorError {
  constructor(directory: DataDirectory, answerMs = ANSWER_MS) {
    super(
      `The daemon of ${directory} runs, but has not answered for ${answerMs / 1_000} s: its disk may be stalled. Run "journalctl -u courtd" to see its log.`,
    );
  }
}

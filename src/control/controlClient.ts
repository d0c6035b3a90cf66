import { type Answer as HttpAnswer, requestAnswer } from '../base/httpAnswer.ts';
import { OperatorError } from '../base/operatorError.ts';
import { checkSocketFile, controlFile } from './controlSocket.ts';

/** How long the daemon may take to answer: one that waits for its disk answers nothing. */
const ANSWER_MS = 5_000;
/** Whoever may write to the directory may answer in the daemon's place. All rejections, the largest answer, are at most 6 MB. */
const LIMITS = { wholeMs: 2 * ANSWER_MS, chars: 16 * 1024 ** 2 } as const;

/** Nobody answers there: no daemon runs, or it was killed, or it is just starting or ending. */
const NOBODY = ['ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE'];

/**
 * Asks the daemon of a data directory. Root must have become the owner of the directory before, as it does when it opens the
 * database there.
 * @returns the answer as a value; undefined where no daemon runs.
 * @throws {OperatorError} where the socket is closed to this user, is no socket, nobody answers behind it, or not the daemon does.
 */
export async function askDaemon<Answer>(
  directory: string,
  path: string,
  method: 'GET' | 'POST' = 'GET',
  body?: Buffer,
): Promise<Answer | undefined> {
  const socketPath = controlFile(directory);
  checkSocketFile(socketPath);
  let answer: HttpAnswer;
  try {
    answer = await requestAnswer(
      { socketPath, path, method, agent: false, timeout: ANSWER_MS },
      body,
      LIMITS,
    );
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (NOBODY.includes(code)) return undefined;
    if (code === 'ETIMEDOUT') throw new DaemonHangs(directory);
    if (code === 'EACCES' || code === 'EPERM')
      throw new OperatorError(
        `${socketPath} is not accessible to this user: use sudo, or join the group of the data directory.`,
      );
    throw new OperatorError(notTheDaemon(socketPath));
  }
  if (answer.status === 200) {
    try {
      return JSON.parse(answer.body);
    } catch {
      throw new OperatorError(notTheDaemon(socketPath));
    }
  }
  throw new OperatorError(
    `The daemon of ${directory} does not know this (${answer.status}): it may be of another version; restart it ("sudo systemctl restart courtd").`,
  );
}

function notTheDaemon(socketPath: string): string {
  return `What answers at ${socketPath} is not courtd's daemon: see who has it ("sudo ss -xlp"), end that, and start courtd again.`;
}

/** It is there, and does not answer. */
export class DaemonHangs extends OperatorError {
  constructor(directory: string) {
    super(
      `The daemon of ${directory} runs, but has not answered for ${ANSWER_MS / 1_000} s: its disk may be stalled; look at its log ("journalctl -u courtd").`,
    );
  }
}

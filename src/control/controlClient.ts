import type { IncomingMessage } from 'node:http';
import { http } from '../base/nodeHttp.ts';
import { OperatorError } from '../base/operatorError.ts';
import { checkControlFile, controlFile } from './controlSocket.ts';

/** How long the daemon may take to answer: one that waits for its disk answers nothing. */
const ANSWER_MS = 5_000;

/** No daemon listens there: none runs, or it was killed, or it is just starting. */
const NOBODY = ['ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE'];

/**
 * Asks the daemon of a data directory. Root must have become the owner of the directory before, as it does when it opens the
 * database there.
 * @returns the answer as a value; undefined where no daemon runs.
 * @throws {OperatorError} where the socket is closed to this user, is no socket, or nobody answers behind it.
 */
export async function askDaemon<Answer>(
  directory: string,
  path: string,
  method: 'GET' | 'POST' = 'GET',
  body?: Buffer,
): Promise<Answer | undefined> {
  const response = await openDaemon(directory, path, method, body);
  if (response === undefined) return undefined;
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of response) chunks.push(chunk);
    const answer = JSON.parse(Buffer.concat(chunks).toString());
    if (response.statusCode === 200) return answer;
    throw new OperatorError(
      `The daemon of ${directory} does not know this (${response.statusCode}): it may be of another version; restart it ("sudo systemctl restart courtd").`,
    );
  } catch (error) {
    if (error instanceof OperatorError) throw error;
    // It ended in the middle of its answer.
    return undefined;
  }
}

/** The same, for an answer that is read as it comes. @returns the response, whose head is there. */
export function openDaemon(
  directory: string,
  path: string,
  method: 'GET' | 'POST' = 'GET',
  body?: Buffer,
): Promise<IncomingMessage | undefined> {
  const socketPath = controlFile(directory);
  return new Promise((resolve, reject) => {
    checkControlFile(directory);
    const request = http.request({ socketPath, path, method, agent: false, timeout: ANSWER_MS });
    if (body !== undefined) request.setHeader('Content-Length', body.length);
    request.once('timeout', () => {
      request.destroy();
      reject(new DaemonHangs(directory));
    });
    request.once('response', resolve);
    request.once('error', (error: NodeJS.ErrnoException) => {
      if (NOBODY.includes(error.code ?? '')) return resolve(undefined);
      if (error.code !== 'EACCES' && error.code !== 'EPERM') return reject(error);
      reject(
        new OperatorError(
          `${socketPath} is not accessible to this user: use sudo, or join the group of the data directory.`,
        ),
      );
    });
    request.end(body);
  });
}

/** It is there, and does not answer. */
export class DaemonHangs extends OperatorError {
  constructor(directory: string) {
    super(
      `The daemon of ${directory} runs, but has not answered for ${ANSWER_MS / 1_000} s: its disk may be stalled; look at its log ("journalctl -u courtd").`,
    );
  }
}

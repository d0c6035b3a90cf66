import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import readline from 'node:readline';
import type { DataDirectory } from '../base/dataDirectory.ts';
import { http } from '../base/nodeHttp.ts';
import { OperatorError } from '../base/operatorError.ts';
import type { StepProgress } from '../store/retention/steps.ts';
import { ANSWER_MS, askStatus, DaemonHangs, explainFailure, unknownAnswer } from './controlClient.ts';
import { checkSocketFile } from './controlSocket.ts';
import type { WorkLine } from './workRoutes.ts';

/** @throws {OperatorError} if no daemon runs: only the daemon writes. */
export async function assertDaemonRuns(data: DataDirectory): Promise<void> {
  if ((await askStatus(data)) === undefined) throw notRunning(data);
}

function notRunning(data: DataDirectory): OperatorError {
  return new OperatorError(
    `The daemon of ${data} does not run, and only the daemon changes events. Start it ("sudo systemctl start courtd"), and repeat the command.`,
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
  const response = await begin(data, path, JSON.stringify(request));
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

async function begin(data: DataDirectory, path: string, body: string): Promise<IncomingMessage> {
  const socketPath = data.file('controlSocket');
  checkSocketFile(socketPath);
  const headers = { 'Content-Length': Buffer.byteLength(body) };
  const request = http.request({ socketPath, path, method: 'POST', agent: false, headers });
  request.setTimeout(ANSWER_MS, () => request.destroy(new DaemonHangs(data)));
  request.end(body);
  let response: IncomingMessage;
  try {
    [response] = (await once(request, 'response')) as [IncomingMessage];
  } catch (error) {
    explainFailure(error, data);
    throw notRunning(data);
  }
  if (response.statusCode !== 200) throw unknownAnswer(data, response.statusCode);
  // It is at work. A sync may take it longer than ANSWER_MS; systemd's watchdog ends a daemon that hangs, and with it this answer.
  request.setTimeout(0);
  // The answer says that it is cut short.
  request.on('error', () => {});
  return response;
}

import { json } from 'node:stream/consumers';
import { OperatorError } from '../base/operatorError.ts';
import type { StepProgress } from '../store/keep/steps.ts';
import type { ControlRoutes } from './controlServer.ts';

export const PRUNE_PATH = '/v1/prune';
export const ERASE_PATH = '/v1/player/erase';
export const DROP_PATH = '/v1/rejections/drop';

/** What an erasure is asked for with: its day is by the clock of the daemon, and nanoseconds are digits. */
export interface EraseBody {
  readonly player: string;
  readonly before?: string;
}

/** How often the answer says how far it is. */
const PROGRESS_MS = 500;

/** A line of the answer: how many events are done, and at last what was done, or in sentences why it does not continue. */
export interface WorkLine<Result> {
  readonly events?: number;
  readonly done?: Result;
  readonly failed?: string;
}

/** Ends at the next step after its client has gone. */
type Work<Request, Result> = (request: Request, on: StepProgress, signal: AbortSignal) => Promise<Result>;

/** Work of the writer that takes a while. Answers with lines of JSON meanwhile. */
export function workRoute<Request, Result>(path: string, work: Work<Request, Result>): ControlRoutes {
  return {
    [path]: async (req, res) => {
      const request = (await json(req)) as Request;
      const gone = new AbortController();
      res.once('close', () => gone.abort());
      const write = (line: WorkLine<Result>) => res.write(`${JSON.stringify(line)}\n`);
      let events = 0;
      const on: StepProgress = (count) => {
        events = count;
      };
      res.writeHead(200, { 'Content-Type': 'application/x-ndjson' }).flushHeaders();
      const timer = setInterval(() => write({ events }), PROGRESS_MS);
      try {
        write({ done: await work(request, on, gone.signal) });
      } catch (error) {
        if (gone.signal.aborted) return;
        if (!(error instanceof OperatorError)) throw error;
        write({ failed: error.message });
      } finally {
        clearInterval(timer);
      }
      res.end();
    },
  };
}

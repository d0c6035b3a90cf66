import { OperatorError } from '../base/operatorError.ts';
import { answerJson, bodyOf, type ControlRoute } from './controlServer.ts';

/** How often the answer says how far it is. */
const PROGRESS_MS = 500;
/** An argument of a command has at most 128 KiB, and JSON takes six characters for one. */
const BODY_BYTES = 1024 ** 2;

/** A line of the answer; the last one has `done` or `failed`. */
export type WorkLine<Doing extends string, Result> =
  | { readonly doing: Doing; readonly count: number }
  | { readonly done: Result }
  /** Why it goes no further, as a sentence. */
  | { readonly failed: string };

/**
 * `POST path`: work of the writer that takes a while. Answers with lines of JSON meanwhile. It ends with its client, at the next step.
 * @param requestOf reads the body of the request; undefined where it is none.
 */
export function workRoute<Request, Doing extends string, Result>(
  path: string,
  requestOf: (body: string) => Request | undefined,
  work: (request: Request, on: (doing: Doing, count: number) => void, signal: AbortSignal) => Promise<Result>,
): ControlRoute {
  return {
    method: 'POST',
    path,
    answer: async (req, res) => {
      const body = await bodyOf(req, BODY_BYTES);
      if (body === undefined) return;
      const request = requestOf(body);
      if (request === undefined) return answerJson(res, { error: `This is no request for ${path}.` }, 400);
      const gone = new AbortController();
      res.once('close', () => gone.abort());
      const write = (line: WorkLine<Doing, Result> | object) => res.write(`${JSON.stringify(line)}\n`);
      let progress: object = { doing: 'events', count: 0 };
      res.writeHead(200, { 'Content-Type': 'application/x-ndjson' }).flushHeaders();
      const timer = setInterval(() => write(progress), PROGRESS_MS);
      try {
        const on = (doing: Doing, count: number) => {
          progress = { doing, count };
        };
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

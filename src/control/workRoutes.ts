import { text } from 'node:stream/consumers';
import { membersOf } from '../base/json.ts';
import { OperatorError } from '../base/operatorError.ts';
import type { Erased, ErasureRequest } from '../store/keep/erase.ts';
import type { PruneSelection } from '../store/keep/expiredEvents.ts';
import type { Pruned } from '../store/keep/pruneEvents.ts';
import type { StepProgress } from '../store/keep/steps.ts';
import type { RefusedSelection } from '../store/refused/refusedFile.ts';
import { answerJson, type ControlRoute } from './controlServer.ts';

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

/** A line of the answer; the last one has `done` or `failed`. */
export type WorkLine<Result> =
  | { readonly doing: 'events' | 'reader'; readonly count: number }
  | { readonly done: Result }
  /** Why it does not continue, in sentences. */
  | { readonly failed: string };

/** Ends at the next step after its client has gone. */
type Work<Request, Result> = (request: Request, on: StepProgress, signal: AbortSignal) => Promise<Result>;

/** `POST /v1/prune`. */
export function pruneRoute(prune: Work<PruneSelection, Pruned>): ControlRoute {
  return workRoute(PRUNE_PATH, prune, ({ beforeMs, type, session }: Partial<PruneSelection>) => {
    if (typeof beforeMs !== 'number') return undefined;
    return { beforeMs, nowMs: Date.now(), ...(type && { type }), ...(session && { session }) };
  });
}

/** `POST /v1/player/erase`. */
export function eraseRoute(erase: Work<ErasureRequest, Erased>): ControlRoute {
  return workRoute(ERASE_PATH, erase, ({ player, before }: Partial<EraseBody>) => {
    if (typeof player !== 'string' || player === '') return undefined;
    const beforeNs = before === undefined ? undefined : BigInt(before);
    return { player, beforeNs, nowMs: Date.now() };
  });
}

/** `POST /v1/rejections/drop`. @param drop returns how many. */
export function dropRoute(drop: (which: RefusedSelection) => Promise<number>): ControlRoute {
  return workRoute(DROP_PATH, drop, ({ beforeMs, ids }: { beforeMs?: number | null; ids?: string[] }) =>
    ids !== undefined ? { ids } : beforeMs !== undefined ? { beforeMs } : undefined,
  );
}

/**
 * `POST path`: work of the writer that takes a while. Answers with lines of JSON meanwhile.
 * @param requestOf reads the members of the body; undefined if it is no request.
 */
function workRoute<Body extends object, Request, Result>(
  path: string,
  work: Work<Request, Result>,
  requestOf: (body: Partial<Body>) => Request | undefined,
): ControlRoute {
  return {
    method: 'POST',
    path,
    answer: async (req, res) => {
      const request = requestOf(membersOf(await text(req)) as Partial<Body>);
      if (request === undefined) return answerJson(res, { error: `This is no request for ${path}.` }, 400);
      const gone = new AbortController();
      res.once('close', () => gone.abort());
      const write = (line: WorkLine<Result> | object) => res.write(`${JSON.stringify(line)}\n`);
      let progress: object = { doing: 'events', count: 0 };
      res.writeHead(200, { 'Content-Type': 'application/x-ndjson' }).flushHeaders();
      const timer = setInterval(() => write(progress), PROGRESS_MS);
      try {
        const on: StepProgress = (doing, count) => {
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

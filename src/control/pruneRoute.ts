import { buffer } from 'node:stream/consumers';
import { OperatorError } from '../base/operatorError.ts';
import type { PruneSelection } from '../store/retention/expiredEvents.ts';
import type { Pruned, PruneProgress } from '../store/retention/prune.ts';
import { answerJson, type ControlRoute } from './controlServer.ts';

export const PRUNE_PATH = '/v1/prune';
/** How often the answer says how far the prune is: the client gives up on a daemon that is silent for longer. */
const PROGRESS_MS = 500;
const BODY_BYTES = 4 * 1024;

/** What a prune is asked for with: `nowMs` is by the daemon's clock. */
export type PruneRequest = Omit<PruneSelection, 'nowMs'>;

/** A line of the answer; the last one has `pruned` or `failed`. */
export type PruneLine =
  | { readonly doing: Parameters<PruneProgress>[0]; readonly count: number }
  | { readonly pruned: Pruned }
  /** Why nothing more is deleted, as a sentence. */
  | { readonly failed: string };

/** `POST /v1/prune`: answers with lines of JSON while it deletes. It ends with its client, at the next step. */
export function pruneRoute(
  prune: (selection: PruneSelection, on: PruneProgress, signal: AbortSignal) => Promise<Pruned>,
): ControlRoute {
  return {
    method: 'POST',
    path: PRUNE_PATH,
    answer: async (req, res) => {
      if (!(Number(req.headers['content-length']) <= BODY_BYTES)) return void req.destroy();
      const request = requestOf(await buffer(req));
      if (request === undefined) return answerJson(res, { error: 'This is no request for a prune.' }, 400);
      const gone = new AbortController();
      res.once('close', () => gone.abort());
      const write = (line: PruneLine) => res.write(`${JSON.stringify(line)}\n`);
      let progress: PruneLine = { doing: 'events', count: 0 };
      res.writeHead(200, { 'Content-Type': 'application/x-ndjson' });
      const timer = setInterval(() => write(progress), PROGRESS_MS);
      try {
        const on: PruneProgress = (doing, count) => {
          progress = { doing, count };
        };
        write({ pruned: await prune({ ...request, nowMs: Date.now() }, on, gone.signal) });
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

/** @returns undefined where it is none. */
function requestOf(body: Buffer): PruneRequest | undefined {
  try {
    const { beforeMs, type, hold } = JSON.parse(body.toString()) as Partial<PruneRequest>;
    const isHold = hold === undefined || (Number.isFinite(hold.afterSeq) && Number.isFinite(hold.beforeMs));
    if (!Number.isFinite(beforeMs) || !isHold || !['string', 'undefined'].includes(typeof type))
      return undefined;
    return { beforeMs: beforeMs!, ...(type !== undefined && { type }), ...(hold !== undefined && { hold }) };
  } catch {
    return undefined;
  }
}

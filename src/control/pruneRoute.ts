import { membersOf } from '../base/json.ts';
import type { PruneSelection } from '../store/retention/expiredEvents.ts';
import type { Pruned, PruneProgress } from '../store/retention/prune.ts';
import type { ControlRoute } from './controlServer.ts';
import { workRoute } from './workRoute.ts';

export const PRUNE_PATH = '/v1/prune';

/** What a prune is asked for with: `nowMs` is by the daemon's clock. */
type PruneRequest = Omit<PruneSelection, 'nowMs'>;

/** `POST /v1/prune`. */
export function pruneRoute(
  prune: (selection: PruneSelection, on: PruneProgress, signal: AbortSignal) => Promise<Pruned>,
): ControlRoute {
  return workRoute(PRUNE_PATH, requestOf, (request, on: PruneProgress, signal) =>
    prune({ ...request, nowMs: Date.now() }, on, signal),
  );
}

/** @returns undefined where it is none. */
function requestOf(body: string): PruneRequest | undefined {
  const { beforeMs, type, hold } = membersOf(body) as Partial<PruneRequest>;
  const isHold = hold === undefined || (Number.isFinite(hold?.afterSeq) && Number.isFinite(hold?.beforeMs));
  if (!Number.isFinite(beforeMs) || !isHold || !['string', 'undefined'].includes(typeof type))
    return undefined;
  return { beforeMs: beforeMs!, ...(type !== undefined && { type }), ...(hold !== undefined && { hold }) };
}

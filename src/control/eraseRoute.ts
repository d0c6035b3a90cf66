import { membersOf } from '../base/json.ts';
import type { Erased, EraseProgress, ErasureRequest } from '../store/erasure/erase.ts';
import type { FoundPlayer } from '../store/erasure/foundPlayer.ts';
import type { ControlRoute } from './controlServer.ts';
import { workRoute } from './workRoute.ts';

export const ERASE_PATH = '/v1/player/erase';
/** Answers how many rejections an erasure would take: what the daemon has of them is not all stored. */
export const NAMING_PATH = '/v1/player/rejection-counts';

/** What an erasure is asked for with: the day of it is by the daemon's clock, and nanoseconds are digits. */
export interface EraseBody {
  readonly player: string;
  readonly before?: string;
}

/** `POST /v1/player/erase`. */
export function eraseRoute(
  erase: (request: ErasureRequest, on: EraseProgress, signal: AbortSignal) => Promise<Erased>,
): ControlRoute {
  return workRoute(ERASE_PATH, requestOf, ({ player, before }, on: EraseProgress, signal) => {
    const beforeNs = before === undefined ? undefined : BigInt(before);
    return erase({ player, beforeNs, nowMs: Date.now() }, on, signal);
  });
}

/** Rejections that go with a player, and those among them that name him: the others cannot be read. */
export type RejectionCounts = Pick<FoundPlayer, 'rejections' | 'namedRejections'>;

/** `POST /v1/player/rejection-counts`. */
export function namingRoute(count: (player: string) => RejectionCounts): ControlRoute {
  return workRoute(NAMING_PATH, requestOf, async ({ player }) => count(player));
}

/** @returns undefined where it is none. */
function requestOf(body: string): EraseBody | undefined {
  const { player, before } = membersOf(body);
  if (typeof player !== 'string' || player === '') return undefined;
  if (before === undefined) return { player };
  return typeof before === 'string' && /^-?\d{1,19}$/.test(before) ? { player, before } : undefined;
}

import { isDeepStrictEqual } from 'node:util';
import { playerOf } from '../../src/protocol/playerRedaction.ts';

/** The outcome of an erasure. Once it has ended, no earlier event of the player is there as it was sent. */
export interface KnownErasure {
  readonly player: string;
  /** When it began, by the clock of the box. */
  readonly nowMs: number;
  hasEnded: boolean;
}

const RENAMED = /^erased-[a-z0-9]{8}$/;
/** Types of which nothing is left where they are of somebody who was erased. */
const EMPTIED = ['PLAYER_POSITION', 'PLAYER_IDENTITY'];

/**
 * @param sent as it was sent. @param stored as it is read.
 * @returns whether it is the same; or, where its player was erased, what may be left of it.
 */
export function isLeft(sent: string, stored: string, erasures: readonly KnownErasure[]): boolean {
  if (sent === stored) return true;
  const [before, after] = [JSON.parse(sent), JSON.parse(stored)];
  const player = before.payload.player_id;
  if (!erasures.some((one) => one.player === player)) return false;
  if (EMPTIED.includes(before.type)) return isDeepStrictEqual(after, { ...before, payload: {} });
  const name = after.payload.player_id;
  return (
    RENAMED.test(name) &&
    isDeepStrictEqual(after, { ...before, payload: { ...before.payload, player_id: name } })
  );
}

/** @returns who is named in an event that nobody should find there any more; undefined: nobody. */
export function notErased(
  stored: string,
  eotMs: number,
  erasures: readonly KnownErasure[],
): string | undefined {
  if (erasures.length === 0) return undefined;
  const player = playerOf(JSON.stringify(JSON.parse(stored).payload));
  return erasures.some((one) => one.hasEnded && one.player === player && eotMs < one.nowMs)
    ? player
    : undefined;
}

import { createHash } from 'node:crypto';
import type { WireEvent } from '../../src/protocol/eventSchema.ts';
import { event } from '../harness/events.ts';

/** What a camera sends, made from its name and a number alone: whoever knows how many were acknowledged knows them all. */

/** Of all events, nineteen in twenty: what a venue's cameras send. */
const POSITIONS_OF = 20;
const SIZES = [1, 1, 2, 3, 5, 8, 13];
const FIRST_EOT_MS = Date.UTC(2026, 2, 14, 15);
const FRAME_MS = 20;

/** A camera, and the session that it sees. */
export interface CameraName {
  readonly session: string;
  /** `source` of its events. */
  readonly camera: string;
}

/** @param n from 0 on. */
export function eventOf({ session, camera }: CameraName, n: number): WireEvent {
  const payload = { x_ft: n / 8, frame: n, note: n % 50 === 0 ? 'Zoë 🎾' : null };
  return event({
    event_id: createHash('sha256').update(`${session}/${camera}/${n}`).digest('hex').slice(0, 24),
    session_id: session,
    court_id: `court-${camera.at(-1)}`,
    eot: new Date(FIRST_EOT_MS + n * FRAME_MS).toISOString(),
    type: n % POSITIONS_OF === 0 ? 'BALL_BOUNCE' : 'PLAYER_POSITION',
    confidence: (n % 100) / 100,
    source: camera,
    payload,
  });
}

/** Events in the request that begins with a camera's n-th: a resend after a crash is the same request. */
export function sizeAt(n: number): number {
  return SIZES[n % SIZES.length]!;
}

import type { WireEvent } from '../../protocol/eventSchema.ts';

/** Example requests of the document. A test sends each to a courtd. */

const SESSION = { session_id: 'match-17', venue_id: 'venue-1', court_id: 'court-7', schema_version: '1.0' };
const CAMERA = { ...SESSION, source: 'court-7-cam-1' };

const BOUNCE: WireEvent = {
  event_id: '0198c5e2-7d1c-7a54-9d54-3b1d0f2a9c11',
  ...CAMERA,
  eot: '2026-03-14T15:09:26.535Z',
  type: 'BALL_BOUNCE',
  confidence: 0.97,
  payload: { x_ft: 12.4, y_ft: 7.85, is_in: true },
};
const HIT: WireEvent = {
  event_id: '0198c5e2-7e02-7c3b-8f6a-51c0a1f4e2d7',
  ...CAMERA,
  eot: '2026-03-14T15:09:26.801Z',
  type: 'BALL_HIT',
  confidence: 0.93,
  payload: { player_id: 'player-2', shot_type: 'drive', swing_type: 'forehand' },
};
const SPEED: WireEvent = {
  event_id: '0198c5e2-7f11-7e0d-a3b2-90de17c55a08',
  ...SESSION,
  source: 'court-7-radar',
  eot: '2026-03-14T17:09:27.081+02:00',
  type: 'BALL_SPEED',
  confidence: 0.91,
  payload: { kmh: 214.5 },
};
const POSITION: WireEvent = {
  event_id: '0198c5e2-7f3c-7a19-b0c4-6d2f8e1b7a43',
  ...CAMERA,
  eot: '2026-03-14T15:09:27.1Z',
  type: 'PLAYER_POSITION',
  confidence: 0.88,
  payload: { player_id: 'player-2', x_ft: 4.1, y_ft: 19.6 },
};
const IDENTITY: WireEvent = {
  event_id: '0198c5e2-6a90-7b8e-9e77-0c3d5b9f4a12',
  ...CAMERA,
  eot: '2026-03-14T15:08:02Z',
  type: 'PLAYER_IDENTITY',
  confidence: 0.99,
  payload: { player_id: 'player-2' },
};
const CORRECTION: WireEvent = { ...BOUNCE, revision: 1, payload: { ...BOUNCE.payload, is_in: false } };

export const REQUEST_EXAMPLES: Readonly<
  Record<string, { readonly summary: string; readonly value: WireEvent | readonly WireEvent[] }>
> = {
  event: { summary: 'One event: a ball has bounced', value: BOUNCE },
  batch: { summary: 'One of each of the other types', value: [HIT, SPEED, POSITION, IDENTITY] },
  correction: {
    summary: 'The ball was out after all: the same event_id, a higher revision',
    value: CORRECTION,
  },
  nothing: { summary: 'An empty array: checks the address and the token', value: [] },
};

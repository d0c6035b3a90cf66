import { randomUUID } from 'node:crypto';
import type { Decision } from '../../../src/vendor/camera/retryPolicy.ts';
import type { Check } from '../../../src/vendor/conformance/judge.ts';
import type { Habits, SentEvent } from './carelessCamera.ts';

/** A camera, what it does wrong, and the one check that it fails. */
export type CarelessRow = readonly [camera: string, does: string, fails: Check['name'], habits: Habits];

const GIVE_UP: Decision = { kind: 'giveUp', why: '' };
const AGAIN: Decision = { kind: 'retry', retryAfterS: undefined, why: '' };

const giveUpAt = (status: number, least = 1): Habits => ({
  decides: (answer, tries) => (answer.status === status && tries >= least ? GIVE_UP : undefined),
});
const insistOn = (status: number): Habits => ({
  decides: (answer, tries) => (answer.status === status && tries < 3 ? AGAIN : undefined),
});
const clock = (aheadS: number): Habits => ({
  detects: (one) => ({ ...one, eot: new Date(Date.parse(one.eot) + aheadS * 1000).toISOString() }),
});
const payload = (change: (one: SentEvent) => Record<string, unknown>): Habits => ({
  detects: (one) => ({ ...one, payload: { ...one.payload, ...change(one) } as SentEvent['payload'] }),
});
const field = (one: SentEvent, name: string) => (one.payload as Record<string, unknown>)[name];

export const CARELESS_CAMERAS: readonly CarelessRow[] = [
  [
    'new-id',
    'a new event_id at each resend',
    'same_event_id',
    { again: (one) => ({ ...one, event_id: randomUUID() }) },
  ],
  [
    'new-id-when-lost',
    'a new event_id where the connection broke',
    'same_event_id',
    { again: (one, { status }) => (status === 0 ? { ...one, event_id: randomUUID() } : one) },
  ],
  [
    'new-eot',
    'the time of sending as eot',
    'same_content',
    { again: (one) => ({ ...one, eot: new Date().toISOString() }) },
  ],
  [
    'counts-tries',
    'the number of the try in the payload',
    'same_content',
    {
      again: (one) => ({ ...one, payload: { ...one.payload, tries: Number(field(one, 'tries') ?? 1) + 1 } }),
    },
  ],
  [
    'deaf',
    'its own waits in the place of Retry-After',
    'waits_as_told',
    { waits: (_told, untoldS) => untoldS },
  ],
  [
    'deaf-to-429',
    'one second after a 429, whatever it says',
    'waits_as_told',
    { waits: (told, untoldS, { status }) => (status === 429 ? 1 : (told ?? untoldS)) },
  ],
  ['hasty', 'no wait where it is told none', 'backs_off', { waits: (told) => told ?? 0 }],
  ['steady', 'the same second each time where it is told none', 'backs_off', { waits: (told) => told ?? 1 }],
  ['singles', 'one event in each request, as fast as they come', 'batches', { sendsSingles: true }],
  ['same-revision', 'corrections under the same revision', 'raises_revision', { corrects: (one) => one }],
  [
    'counts-down',
    'revision 5 corrected with revision 4',
    'raises_revision',
    {
      detects: (one) => ({ ...one, revision: 5 }),
      corrects: (one) => ({ ...one, revision: 4 }),
    },
  ],
  ['late-clock', 'a clock that is a minute behind', 'true_eot', clock(-60)],
  ['early-clock', 'a clock that is ten seconds ahead', 'true_eot', clock(10)],
  [
    'local-time',
    'an eot without an offset',
    'true_eot',
    { detects: (one) => ({ ...one, eot: one.eot.replace('Z', '') }) },
  ],
  ['token-in-url', 'the token in the query, too', 'token_not_in_url', { hasTokenInUrl: true }],
  ['loops', 'the same batch again after a 400', 'gives_up_on_400', insistOn(400)],
  ['drops-the-rest', 'the whole batch dropped after a 400', 'gives_up_on_400', giveUpAt(400)],
  ['insists', 'a batch as large again after a 413', 'splits_on_413', insistOn(413)],
  ['forgets-half', 'the second half of a 413 forgotten', 'splits_on_413', { forgetsHalf: true }],
  ['reconnects', 'a connection for each request', 'keeps_connections', { endsConnections: true }],
  ['pipelines', 'a request before the last answer', 'keeps_connections', { pipelines: true }],
  ['gives-up-at-401', 'events dropped at a 401', 'survives_401', giveUpAt(401)],
  ['silent-at-401', 'nothing more after a 401', 'survives_401', { endsAt: 401 }],
  [
    'speed-as-text',
    'kmh as text',
    'payload_types',
    payload((one) => (one.type === 'BALL_SPEED' ? { kmh: `${field(one, 'kmh')}` } : {})),
  ],
  [
    'bounce-as-text',
    'x_ft of a bounce as text, which the box refuses',
    'payload_types',
    payload((one) => (one.type === 'BALL_BOUNCE' ? { x_ft: `${field(one, 'x_ft')}` } : {})),
  ],
  ['sends-once', 'events dropped where the answer is lost', 'loses_nothing', giveUpAt(0)],
  ['gives-up-at-503', 'events dropped at the second 503', 'loses_nothing', giveUpAt(503, 2)],
  ['gives-up-at-429', 'events dropped at a 429', 'loses_nothing', giveUpAt(429)],
  [
    'percent',
    'a confidence in percent, which the box refuses',
    'loses_nothing',
    { detects: (one) => ({ ...one, confidence: 97 }) },
  ],
  ['in-memory', 'events forgotten when it is switched off', 'survives_restart', { forgetsWhenOff: true }],
];

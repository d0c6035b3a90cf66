import t from 'tap';
import { MIN_FREE_BYTES } from '../../src/base/limits.ts';
import { isQuiet, quietHoursOf } from '../../src/base/quietHours.ts';
import { type BoxFacts, findProblems } from '../../src/health/makeStatus.ts';
import { BOX_PROBLEMS, type BoxProblemCode } from '../../src/health/problems.ts';
import type { RefusalReport } from '../../src/telemetry/refusals.ts';
import type { SourceReport } from '../../src/telemetry/source.ts';

/** Whether a box has a problem is decided once. */

const NOW = Date.UTC(2026, 10, 20, 12);
const GIB = 1024 ** 3;
const HOUR_S = 3_600;
const DAY_S = 24 * HOUR_S;
const ago = (seconds: number) => new Date(NOW - seconds * 1_000).toISOString();

/** A box without problems, except the given facts. */
function box(facts: Partial<BoxFacts>, store: object = {}, ship: object = {}): BoxFacts {
  return {
    certificate: null,
    sources: [],
    refusals: [],
    quiet_venue: null,
    old_tokens: [],
    waiting: [],
    is_quiet_hours: false,
    isFull: false,
    isDamaged: false,
    minFreeBytes: MIN_FREE_BYTES,
    store: {
      directory: '/var/lib/courtd',
      store: { wal_bytes: 0, free_bytes: 100 * GIB, days_left: null, last_backup_at: ago(60), ...store },
      tokens: { active: 1, retiring: 0 },
      isDamaged: false,
      oldestDays: 100,
      ...store,
    },
    ship: {
      url: 'nats://hq',
      state: 'current',
      error: null,
      behind_s: 0,
      ...ship,
    },
    ...facts,
  } as unknown as BoxFacts;
}

const copied = (copy: object) =>
  box({ copy: { place: '/media/copy', behind_s: 0, error: null, ...copy } as never });

const find = (facts: BoxFacts) => findProblems(facts, NOW);
const codes = (facts: BoxFacts) => find(facts).map(({ code }) => code);

const camera = {
  source: 'cam',
  court_id: 'court-1',
  client: '10.0.7.31',
  state: 'sending',
  quiet_s: 1,
  missing_s: null,
  clock_offset_s: 0,
  odd_fields: [] as string[],
  odd_times: 0,
  conflicts: 0,
} as unknown as SourceReport;
const refusal = {
  code: 'invalid_event',
  client: '10.0.7.31',
  source: 'cam',
  court_id: 'court-1',
  requests: 1,
};
const refused = (more: object) => ({ refusals: [{ ...refusal, ago_s: 1, ...more } as RefusalReport] });
const unauthorized = { code: 'unauthorized', source: null, is_over: false, requests: 6 };
const cameras = (more: object) => ({ sources: [camera, { ...camera, source: 'other', ...more }] });
const oldToken = (ends_in_s: number) => ({ old_tokens: [{ id: 1, ends_in_s, clients: ['10.0.7.31'] }] });
const until = (valid_from: string, expires_at: string) =>
  box({ certificate: { valid_from, expires_at } as BoxFacts['certificate'] });
const WAITING = [{ sender: 'cam', events: 12 }];

/** Just beyond each threshold, and just within it. */
const CASES: readonly (readonly [code: BoxProblemCode, wrong: BoxFacts, right?: BoxFacts])[] = [
  ['damage', box({ isDamaged: true })],
  ['damage', box({}, { isDamaged: true })],
  [
    'no_token',
    box({}, { tokens: { active: 0, retiring: 0 } }),
    box({}, { tokens: { active: 0, retiring: 1 } }),
  ],
  ['source_silent', box(cameras({ state: 'silent' })), box(cameras({ state: 'resting' }))],
  [
    'source_silent',
    box(cameras({ state: 'silent', missing_s: 240 })),
    box({ ...cameras({ state: 'silent', missing_s: 240 }), is_quiet_hours: true }),
  ],
  [
    'source_overdue',
    box(cameras({ state: 'overdue' })),
    box({ ...cameras({ state: 'overdue' }), is_quiet_hours: true }),
  ],
  [
    'quiet',
    box({ quiet_venue: { for_s: 301, sources: 6 } }),
    box({ quiet_venue: { for_s: 301, sources: 6 }, is_quiet_hours: true }),
  ],
  ['conflicts', box(cameras({ conflicts: 1 }))],
  ['odd_time', box(cameras({ odd_times: 3 }))],
  ['odd_payload', box(cameras({ odd_fields: ['kmh as string'] }))],
  ['clock_off', box(cameras({ clock_offset_s: -2.1 })), box(cameras({ clock_offset_s: 2 }))],
  ['old_token', box(oldToken(DAY_S - 1)), box(oldToken(DAY_S))],
  ['token_refused', box(refused(unauthorized)), box(refused({ ...unauthorized, requests: 5 }))],
  ['token_refused', box(refused(unauthorized)), box(refused({ ...unauthorized, is_over: true }))],
  ['bug', box(refused({ code: 'internal_error' }))],
  ['refused', box(refused({})), box(refused({ code: 'overloaded' }))],
  ['refused', box(refused({ ago_s: HOUR_S })), box(refused({ ago_s: HOUR_S + 1 }))],
  ['refused', box({ waiting: WAITING })],
  ['refused', box({ ...refused({}), waiting: WAITING })],
  [
    'refused',
    box(refused({ code: 'rate_limited', requests: 100 })),
    box(refused({ code: 'rate_limited', requests: 99 })),
  ],
  ['certificate_expired', until(ago(DAY_S), ago(0)), until(ago(DAY_S), ago(-31 * DAY_S))],
  ['certificate_expires', until(ago(DAY_S), ago(-30 * DAY_S)), until(ago(DAY_S), ago(-30 * DAY_S - 1))],
  ['disk_full', box({ isFull: true }), box({ minFreeBytes: 0 }, { free_bytes: 0 })],
  ['disk_low', box({}, { free_bytes: GIB - 1 }), box({}, { free_bytes: GIB })],
  ['disk_filling', box({}, { days_left: 13 }), box({}, { days_left: 14 })],
  ['log_held', box({}, { wal_bytes: GIB / 4 + 1 }), box({}, { wal_bytes: GIB / 4 })],
  ['erasure_unfinished', box({}, { erasureMs: 1 })],
  ['no_backup', box({}, { last_backup_at: ago(2 * DAY_S + 1) }), box({}, { last_backup_at: ago(2 * DAY_S) })],
  ['no_backup', box({}, { last_backup_at: null }), box({}, { last_backup_at: null, oldestDays: 2 })],
  ['backup_failed', box({}, { failedBackup: { ms: NOW, result: 'exit-code' }, last_backup_at: null })],
  ['ship_fenced', box({}, {}, { state: 'fenced' }), box({ ship: null })],
  ['ship_refused', box({}, {}, { state: 'refused', error: 'No such box.' })],
  ['ship_behind', box({}, {}, { behind_s: 6 * HOUR_S + 1 }), box({}, {}, { behind_s: 6 * HOUR_S })],
  ['copy_behind', copied({ behind_s: 61 }), copied({ behind_s: 60 })],
  ['copy_behind', copied({ error: 'No stick.' }), copied({})],
];

/** What is found without the daemon (status.test.ts, alert.test.ts). */
const WITHOUT_DAEMON = ['daemon_stopped', 'daemon_hangs'];

t.test('each rule applies beyond its threshold, and not before, as one problem', (t) => {
  t.strictSame(codes(box({})), [], 'a box that is well');
  for (const [code, wrong, right] of CASES) {
    t.strictSame(codes(wrong), [code]);
    const [found] = find(wrong);
    t.match(found, { level: BOX_PROBLEMS[code].level, message: /^\S.*[.?]$/, advice: /^\S.*\.$/ }, code);
    if (right !== undefined) t.strictSame(codes(right), [], `${code}: within it`);
  }
  const tried = [...WITHOUT_DAEMON, ...CASES.map(([code]) => code)];
  t.strictSame(new Set(tried), new Set(Object.keys(BOX_PROBLEMS)), 'every rule is tried');
  t.end();
});

t.test('if all clocks are off alike, it may be the box; if one is, it is not', (t) => {
  const mayBeTheBox = (...offsets: readonly (number | null)[]) => {
    const sources = offsets.map((clock_offset_s, i) => ({ ...camera, source: `cam-${i}`, clock_offset_s }));
    return find(box({ sources })).map(({ message }) => message.includes('clock of the box'));
  };
  t.strictSame(mayBeTheBox(-600, -599, null), [true, true]);
  t.strictSame(mayBeTheBox(-600), [true]);
  t.strictSame(mayBeTheBox(-600, 0), [false]);
  t.end();
});

t.test('cameras of one address that is missing are one problem, and others have one each', (t) => {
  const silent = (source: string, more: object = {}) =>
    ({ ...camera, source, state: 'silent', ...more }) as SourceReport;
  const missing = { missing_s: 240, quiet_s: 660 };
  const alone = silent('c', { client: '10.0.7.32', quiet_s: 130 });
  t.match(find(box({ sources: [silent('a', missing), silent('b', missing), alone] })), [
    { code: 'source_silent', message: /^c on court-1: .* 2 min 10 s/ },
    { code: 'source_silent', message: /^a on court-1 and 1 more \(10\.0\.7\.31\): .* 4 min/ },
  ]);
  t.end();
});

t.test('rejected requests of a sender are one problem with its kept events', (t) => {
  const refusals = ['invalid_event', 'too_deep'].map(
    (code) => ({ ...refusal, code, ago_s: 1 }) as RefusalReport,
  );
  t.match(find(box({ refusals, waiting: [...WAITING, { sender: 'old', events: 1 }] })), [
    {
      code: 'refused',
      message: /^cam on court-1: 2 requests .* 12 rejected events/,
      advice: /--source cam /,
    },
    { code: 'refused', message: /^old: 1 rejected event / },
  ]);
  t.end();
});

t.test('quiet hours are of the local time, over midnight too', (t) => {
  const isQuietAt = (hours: string, hour: number, minute: number) =>
    isQuiet(quietHoursOf(hours)!, new Date(2026, 2, 14, hour, minute));
  for (const [hour, minute, night, noon] of [
    [22, 59, false, false],
    [23, 0, true, false],
    [6, 59, true, false],
    [7, 0, false, false],
    [12, 0, false, true],
    [13, 30, false, false],
  ] as const) {
    t.equal(isQuietAt('23:00-07:00', hour, minute), night);
    t.equal(isQuietAt('12:00-13:30', hour, minute), noon);
  }
  for (const wrong of ['', '23-7', '23:00', '24:00-07:00', '07:00-07:00', '23:00-07:00 '])
    t.equal(quietHoursOf(wrong), undefined, wrong);
  t.end();
});

t.test(
  'the advice for a full disk is to delete the older half, if the events are of more than two days',
  (t) => {
    const adviceAt = (oldestDays: number) => find(box({ isFull: true }, { oldestDays }))[0]?.advice;
    t.match(adviceAt(61.5), /prune --older-than 30d"/);
    t.notMatch(adviceAt(1.9), 'prune');
    t.end();
  },
);

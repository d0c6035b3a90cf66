import t from 'tap';
import { isQuiet, quietHoursOf } from '../../src/base/quietHours.ts';
import type { BoxFacts } from '../../src/health/facts.ts';
import type { StatusProblem } from '../../src/health/finding.ts';
import { findProblems } from '../../src/health/problems.ts';
import { PROBLEM_TEXTS, roomAdvice } from '../../src/health/problemTexts.ts';
import { THRESHOLDS } from '../../src/health/thresholds.ts';
import type { HandshakeReport } from '../../src/telemetry/handshakeFailures.ts';
import type { RefusalReport } from '../../src/telemetry/refusalBook.ts';
import type { SourceReport } from '../../src/telemetry/source.ts';
import { tableBelow } from '../harness/documents.ts';

/** What is wrong with a box is decided once, and the documents agree. */

const NOW = Date.UTC(2026, 10, 20, 12);
const GIB = 1024 ** 3;
const HOUR_S = 3_600;
const DAY_S = 24 * HOUR_S;
const ago = (seconds: number) => new Date(NOW - seconds * 1_000).toISOString();

/** A box that is well, but what is given is otherwise. */
function box(
  daemon: Partial<NonNullable<BoxFacts['daemon']>> | undefined,
  { store = {}, ship = {}, ...facts }: Record<string, unknown> & { store?: object; ship?: object } = {},
): BoxFacts {
  return {
    daemon: daemon && {
      sources: [],
      refusals: [],
      handshakes: [],
      quiet_venue: null,
      old_tokens: [],
      is_quiet_hours: false,
      certificate: null,
      is_full: false,
      damage_reports: 0,
      min_free_bytes: THRESHOLDS.free_bytes,
      ...daemon,
    },
    hangs: undefined,
    store: {
      directory: '/var/lib/courtd',
      store: { wal_bytes: 0, free_bytes: 100 * GIB, days_left: null, last_backup_at: ago(60), ...store },
      minFreeBytes: THRESHOLDS.free_bytes,
      room: { suggestion: undefined, bytes: 0, previousBytes: 0 },
      tokens: { active: 1, retiring: 0 },
      isDamaged: false,
      newMs: undefined,
      unfinishedErasureMs: undefined,
      hasPruneFailed: false,
      hasBackupFailed: false,
      oldestMs: NOW - 100 * DAY_S * 1_000,
      refused: [],
      ship: {
        url: 'nats://hq',
        isSetUp: true,
        running: true,
        state: 'current',
        error: null,
        behind_s: 0,
        ...ship,
      },
      ...facts,
    },
  };
}

const find = (facts: BoxFacts) => findProblems(facts, NOW);
const codes = (facts: BoxFacts) => find(facts).map(({ code }) => code);

const camera = {
  source: 'cam',
  court_id: 'court-1',
  client: '10.0.7.31',
  state: 'sending',
  quiet_s: 1,
  clock_offset_s: 0,
  odd_fields: [] as string[],
  missing_s: null,
  odd_times: 0,
  in_conflict: 0,
} as unknown as SourceReport;
const refusal = { code: 'invalid_event', client: '10.0.7.31', source: 'cam', requests: 1, error: 'Wrong.' };
const refused = (more: object) => ({ refusals: [{ ...refusal, ago_s: 1, ...more } as RefusalReport] });
const handshake = { client: '10.0.7.21', reason: 'ERR_SSL_HTTP_REQUEST', times: 1, ago_s: 3 };
const handshakes = (more: Partial<HandshakeReport>) => ({ handshakes: [{ ...handshake, ...more }] });
const cameras = (more: object) => ({ sources: [camera, { ...camera, source: 'other', ...more }] });
const until = (from: string, to: string) => ({ certificate: { valid_from: from, expires_at: to } });

/** Just beyond each threshold, and just within it. */
const CASES: readonly (readonly [code: keyof typeof PROBLEM_TEXTS, wrong: BoxFacts, right?: BoxFacts])[] = [
  ['daemon_stopped', box(undefined)],
  ['daemon_hangs', { ...box(undefined), hangs: { message: 'It has not answered for 5 s.' } }],
  ['database_damaged', box({ damage_reports: 1 })],
  ['database_damaged', box({}, { isDamaged: true })],
  ['new_database', box({}, { newMs: 1_000 })],
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
    box(cameras({ state: 'overdue', quiet_s: 2 * DAY_S })),
    box({ ...cameras({ state: 'overdue' }), is_quiet_hours: true }),
  ],
  [
    'quiet',
    box({ quiet_venue: { for_s: 301, sources: 6 } }),
    box({ quiet_venue: { for_s: 301, sources: 6 }, is_quiet_hours: true }),
  ],
  ['conflicts', box(cameras({ in_conflict: 1 }))],
  ['odd_time', box(cameras({ odd_times: 3 }))],
  [
    'old_token',
    box({ old_tokens: [{ id: 1, ends_in_s: DAY_S - 1, clients: ['10.0.7.31'] }] }),
    box({ old_tokens: [{ id: 1, ends_in_s: DAY_S, clients: ['10.0.7.31'] }] }),
  ],
  [
    'token_refused',
    box(refused({ code: 'unauthorized', is_over: false, requests: 3, ago_s: 80_000 })),
    box(refused({ code: 'unauthorized', is_over: false, requests: 2 })),
  ],
  [
    'token_refused',
    box(refused({ code: 'unauthorized', is_over: false, requests: 3 })),
    box(refused({ code: 'unauthorized', is_over: true, requests: 3 })),
  ],
  ['refused', box(refused({})), box(refused({ code: 'overloaded' }))],
  ['refused', box(refused({ ago_s: HOUR_S })), box(refused({ ago_s: HOUR_S + 1 }))],
  [
    'refused',
    box(refused({ code: 'rate_limited', requests: 100 })),
    box(refused({ code: 'rate_limited', requests: 99 })),
  ],
  ['tls_handshakes', box(handshakes({}))],
  [
    'tls_handshakes',
    box(handshakes({ reason: null, times: THRESHOLDS.handshakes_given_up })),
    box(handshakes({ reason: null, times: THRESHOLDS.handshakes_given_up - 1 })),
  ],
  [
    'refused_waiting',
    box({}, { refused: [{ sender: "the players' cam", events: 12, sinceMs: NOW }] }),
    box({}, { refused: [] }),
  ],
  ['clock_off', box(cameras({ clock_offset_s: -2.1 })), box(cameras({ clock_offset_s: 2 }))],
  ['odd_payload', box(cameras({ odd_fields: ['kmh as text'] }))],
  ['certificate_expired', box(until(ago(DAY_S), ago(0))), box(until(ago(DAY_S), ago(-31 * DAY_S)))],
  ['certificate_not_yet_valid', box(until(ago(-1), ago(-99 * DAY_S))), box(until(ago(0), ago(-99 * DAY_S)))],
  [
    'certificate_expires',
    box(until(ago(DAY_S), ago(-30 * DAY_S))),
    box(until(ago(DAY_S), ago(-30 * DAY_S - 1))),
  ],
  ['disk_full', box({ is_full: true }), box({ min_free_bytes: 0 }, { store: { free_bytes: 0 } })],
  ['disk_low', box({}, { store: { free_bytes: GIB - 1 } }), box({}, { store: { free_bytes: GIB } })],
  [
    'disk_low',
    box({ min_free_bytes: 200 * GIB }),
    box({ min_free_bytes: 1 }, { store: { free_bytes: 2 }, minFreeBytes: GIB }),
  ],
  ['disk_filling', box({}, { store: { days_left: 13 } }), box({}, { store: { days_left: 14 } })],
  ['log_held', box({}, { store: { wal_bytes: GIB / 4 + 1 } }), box({}, { store: { wal_bytes: GIB / 4 } })],
  ['erasure_unfinished', box({}, { unfinishedErasureMs: 1 })],
  ['prune_failed', box({}, { hasPruneFailed: true })],
  ['backup_failed', box({}, { hasBackupFailed: true })],
  [
    'no_backup',
    box({}, { store: { last_backup_at: ago(2 * DAY_S + 1) } }),
    box({}, { store: { last_backup_at: ago(2 * DAY_S) } }),
  ],
  [
    'no_backup',
    box({}, { store: { last_backup_at: null } }),
    box({}, { store: { last_backup_at: null }, oldestMs: NOW - 2 * DAY_S * 1_000 }),
  ],
  [
    'ship_fenced',
    box({}, { ship: { state: 'fenced' } }),
    box({}, { ship: { isSetUp: false, state: 'fenced' } }),
  ],
  ['ship_refused', box({}, { ship: { state: 'refused', error: 'No such box.' } })],
  [
    'ship_stopped',
    box({}, { ship: { running: false, behind_s: 301 } }),
    box({}, { ship: { running: false, behind_s: 300 } }),
  ],
  [
    'ship_behind',
    box({}, { ship: { behind_s: 6 * HOUR_S + 1 } }),
    box({}, { ship: { behind_s: 6 * HOUR_S } }),
  ],
  [
    'ship_behind',
    box({}, { ship: { url: 'file:///media/copy', behind_s: 61 } }),
    box({}, { ship: { url: 'file:///media/copy', behind_s: 60 } }),
  ],
  [
    'ship_behind',
    box({}, { ship: { url: 'file:///media/copy', state: 'connecting', error: 'No stick.' } }),
    box({}, { ship: { state: 'connecting', error: 'No line.' } }),
  ],
];

t.test('each rule applies beyond its threshold, and not before', (t) => {
  t.strictSame(codes(box({})), [], 'a box that is well');
  for (const [code, wrong, right] of CASES) {
    t.strictSame(codes(wrong), [code]);
    const [found] = find(wrong);
    t.match(found, { message: /^\S.*[.?]$/, advice: /^\S.*\.$/ }, code);
    if (right !== undefined) t.strictSame(codes(right), [], `${code}: within it`);
  }
  t.strictSame(
    new Set(CASES.map(([code]) => code)),
    new Set(Object.keys(PROBLEM_TEXTS)),
    'every rule is tried',
  );
  t.end();
});

t.test('where all clocks are off alike, it may be the box; where one is, it is not', (t) => {
  const messages = (...offsets: readonly (number | null)[]) => {
    const sources = offsets.map((clock_offset_s, i) => ({ ...camera, source: `cam-${i}`, clock_offset_s }));
    return find(box({ sources })).map(({ message }) => message);
  };
  const behind = 'is 10 min behind.';
  t.strictSame(messages(-600, -599, null), [
    `The clock of cam-0 on court-1 ${behind} All sources are off alike: it may be the clock of the box.`,
    'The clock of cam-1 on court-1 is 9 min 59 s behind. All sources are off alike: it may be the clock of the box.',
  ]);
  t.match(messages(-600), [/It is the only source there is to compare with/]);
  t.strictSame(messages(-600, 0), [`The clock of cam-0 on court-1 ${behind}`]);
  t.end();
});

t.test('cameras of one address that is missing are one problem, and others have one each', (t) => {
  const silent = (source: string, more: object = {}) =>
    ({ ...camera, source, state: 'silent', ...more }) as SourceReport;
  const missing = { missing_s: 240, quiet_s: 660 };
  const problems = find(
    box({
      sources: [
        silent('a', missing),
        silent('b', missing),
        silent('c', { client: '10.0.7.32', quiet_s: 130 }),
      ],
    }),
  );
  t.match(problems, [
    { code: 'source_silent', message: /^c on court-1: .* 2 min 10 s/ },
    { code: 'source_silent', message: /^a on court-1 and 1 more \(10\.0\.7\.31\): .* 4 min/ },
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

t.test('the table of systemd/STATUS.md has every code, with its level', (t) => {
  const told = new Map<string, string>();
  for (const [names = '', level = ''] of tableBelow('systemd/STATUS.md', '## What it finds')) {
    for (const name of names.replaceAll('`', '').split(', ')) told.set(name, level);
  }
  const levels = (all: readonly StatusProblem[]) => all.map(({ code, level }) => [code, level] as const);
  const found = new Map<string, string>(levels(CASES.flatMap(([, wrong]) => find(wrong))));
  t.match(find(box(refused({ code: 'internal_error' }))), [{ code: 'refused', level: 'fail' }]);
  found.set('refused', "warn; fail for a bug of courtd's");
  t.strictSame([...told].sort(), [...found].sort());
  t.end();
});

t.test('what would make room, and how much, by what is there', (t) => {
  const old = { olderThan: '30d', bytes: 2 * GIB, positionBytes: 1.5 * GIB };
  const about = (suggestion: typeof old | undefined, bytes = 4 * GIB, previousBytes = 0) =>
    roomAdvice({ suggestion, bytes, previousBytes });
  t.match(about(old), /^Make room: "sudo courtd prune --older-than 30d" frees about 2\.0 GiB; /);
  t.match(about(old), '"--type PLAYER_POSITION" besides, about 1.5 GiB');
  t.notMatch(about({ ...old, positionBytes: 0 }), 'PLAYER_POSITION');
  t.match(about(old, 4 * GIB, GIB), /^Earlier databases take 1\.0 GiB: remove .* prune --older-than 30d/);
  t.match(about(undefined), 'of the last hour');
  t.match(about(old, 1024), /^The events take 1\.0 KiB only: something else fills the disk /);
  t.end();
});

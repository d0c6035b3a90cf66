import t from 'tap';
import type { CourtEvent } from '../../src/protocol/courtEvent.ts';
import type { Refused } from '../../src/store/refused/refusedRequests.ts';
import type { StoredSources } from '../../src/store/storedSources.ts';
import { SourceTable } from '../../src/telemetry/sourceTable.ts';
import { event } from '../harness/events.ts';
import { court } from '../harness/scratchStore.ts';

/** A day of a venue in no time: the table takes its clock as an argument. */

const S = 1_000;
const WALL = Date.UTC(2026, 10, 22, 12);

const [SAMPLE] = court(event());
const sent = (source: string, courtId = 'court-1', eotMs = WALL): CourtEvent => ({
  ...SAMPLE!,
  source,
  courtId,
  eotNs: BigInt(eotMs) * 1_000_000n,
});

function refusedOf(client: string): Refused {
  return { id: 'r', client, status: 401, code: 'unauthorized', error: '' };
}

class Venue {
  readonly table = new SourceTable();
  /** Milliseconds. */
  now = 0;
  /** Everything that was ever silent. */
  readonly alarms: string[] = [];

  /** @param every how often each source sends, in seconds. @param seconds for how long. */
  play(seconds: number, every: Readonly<Record<string, number>>): this {
    const end = this.now + seconds * S;
    for (; this.now < end; this.now += 250) {
      for (const [source, period] of Object.entries(every)) {
        if (this.now % (period * S) === 0) this.table.stored('c', [sent(source)], WALL + this.now, this.now);
      }
      if (this.now % (5 * S) === 0) {
        for (const { source, state } of this.table.report(this.now, WALL + this.now, [])) {
          if (state === 'silent') this.alarms.push(`${source} at ${this.now / S}`);
        }
      }
    }
    return this;
  }

  states() {
    const all = this.table.report(this.now, WALL + this.now, []).map(({ source, state }) => [source, state]);
    return Object.fromEntries(all);
  }
}

/** Keeps what a table writes, for another one. */
class Keeper {
  #written: StoredSources | undefined;

  write = (sources: StoredSources): boolean => {
    this.#written = sources;
    return true;
  };

  restart(now: number, nowMs = WALL): SourceTable {
    return new SourceTable(this.#written, now, nowMs);
  }
}

t.test('the state of a source follows from its rhythm and that of its court', (t) => {
  const [a, b] = [{ a: 0.25 }, { b: 0.25 }];
  const both = { ...a, ...b };
  const played = (seconds: number) => new Venue().play(seconds, both);
  const cases: readonly (readonly [state: string, venue: Venue, when: string])[] = [
    ['sending', new Venue().play(20, a), 'it sends'],
    ['silent', played(20).play(121, b), 'it stopped two minutes ago, its court plays on'],
    ['resting', played(100).play(600, {}).play(60, b), 'its court changed ends, b came back first'],
    ['sending', new Venue().play(601, { a: 60, ...b }).play(119, b), 'it sends once a minute, one was lost'],
    ['resting', played(2).play(900, b), 'too little has come to say how it sends'],
    ['resting', played(20).play(180, b).play(200, {}), 'the match ended after it fell silent'],
  ];
  for (const [state, venue, when] of cases) t.equal(venue.states().a, state, when);
  t.end();
});

t.test('a camera that sent several times a second for 20 s and stops is silent within two minutes', (t) => {
  for (const period of [0.25, 1, 10, 60]) {
    const venue = new Venue().play(20, { dead: 0.25, other: period });
    venue.play(120, { other: period });
    t.strictSame(
      venue.states(),
      { dead: 'silent', other: 'sending' },
      `its neighbour sends every ${period} s`,
    );
    venue.play(5, { dead: 0.25, other: 0.25 });
    t.equal(venue.states().dead, 'sending', 'and sends again');
    venue.play(120, { other: 0.25 });
    t.equal(venue.states().dead, 'silent', 'a second time');
  }
  t.end();
});

t.test('no alarm on an uneventful day', (t) => {
  const venue = new Venue();
  const all = { ball: 0.5, players: 0.25, slow: 60 };
  for (let match = 0; match < 3; match++) {
    for (let set = 0; set < 3; set++) {
      venue.play(600, all);
      // They change ends; then one camera comes back before the others.
      venue.play(600, {});
      venue.play(30, { players: 0.25 });
      venue.play(15, { players: 0.25, ball: 0.5 });
    }
    venue.play(1_800, {});
    t.strictSame(venue.states(), { ball: 'resting', players: 'resting', slow: 'resting' });
  }
  t.strictSame(venue.alarms, []);
  t.end();
});

t.test('rallies: a ball camera pauses while the players are still seen', (t) => {
  const venue = new Venue();
  for (let rally = 0; rally < 30; rally++) {
    venue.play(15, { ball: 0.5, players: 0.25 });
    venue.play(rally % 6 === 5 ? 40 : 20, { players: 0.25 });
  }
  t.strictSame(venue.alarms, []);
  venue.play(120, { players: 0.25 });
  t.equal(venue.states().ball, 'silent', 'and yet it is missed within two minutes');
  t.end();
});

t.test('an odd field, an odd time and a conflict are reported for an hour, across a restart', (t) => {
  const keeper = new Keeper();
  let table = new SourceTable();
  const send = (atS: number, odd: string[], eotMs = WALL) =>
    table.stored('c', [{ ...sent('a', 'court-1', eotMs), ...(odd.length > 0 && { odd }) }], WALL, atS * S);
  const report = (atS: number) => table.report(atS * S, WALL + atS * S, [])[0];
  send(0, ['kmh as string', 'player_id as number'], 0);
  t.match(report(0), { odd_times: 0 }, 'all its events are of 1970: that is its clock');
  send(1_800, ['kmh as string']);
  table.repeated([{ event: sent('a'), isConflict: true, isShared: false }], 1_800 * S);
  send(3_599, []);
  const wrong = { odd_fields: ['kmh as string', 'player_id as number'], odd_times: 1, conflicts: 1 };
  t.match(report(3_600), wrong);
  table.keep(3_600 * S, WALL + 3_600 * S, keeper.write);
  table = keeper.restart(3_600 * S, WALL + 3_600 * S);
  t.match(report(3_600), { ...wrong, state: 'unknown', last_received_at: '2026-11-22T12:59:59.000Z' });
  t.match(report(3_601), { odd_fields: ['kmh as string'], odd_times: 0 });
  t.match(report(5_401), { odd_fields: [], conflicts: null });
  t.end();
});

t.test('one request may be of several cameras: each is counted for itself', (t) => {
  const table = new SourceTable();
  const mixed = [sent('a'), sent('a'), sent('b'), sent('a'), sent('a', 'court-2')];
  table.stored('c', mixed, WALL, 5 * S);
  const copies = [mixed[2]!, mixed[3]!].map((event, at) => ({ event, isConflict: at > 0, isShared: at > 0 }));
  table.repeated(copies, 5 * S);
  t.match(table.report(6 * S, WALL, []), [
    { source: 'a', court_id: 'court-1', events_last_minute: 2, duplicates: 1, conflicts: 1 },
    { source: 'b', court_id: 'court-1', events_last_minute: 0, duplicates: 1, conflicts: 0 },
    { source: 'a', court_id: 'court-2', events_last_minute: 1, duplicates: 0 },
  ]);
  t.match(table.report(66 * S, WALL, [])[0], { events_last_minute: 0, events_last_day: 2 });
  const refusal = { code: 'invalid_event', client: 'c', court_id: null, ago_s: 1, is_over: false } as const;
  const refusals = ['a', 'b'].map((source, i) => ({ ...refusal, source, requests: i + 1 }));
  const refused = table.report(66 * S, WALL, refusals).map((one) => one.refused_last_day);
  t.strictSame(refused, [0, 2, 0], 'without a court only if no other court has that name');
  t.end();
});

/** A source that sends twice a second for so long, its events as late as it says. */
class LateCamera {
  readonly table = new SourceTable();
  now = S;

  send(seconds: number, lateS: (sinceS: number) => number): this {
    for (const begin = this.now; this.now < begin + seconds * S; this.now += 500) {
      const eotMs = WALL + this.now - lateS((this.now - begin) / S) * S;
      this.table.stored('c', [sent('a', 'court-1', eotMs)], WALL + this.now, this.now);
    }
    return this;
  }

  get offset() {
    return this.table.report(this.now, WALL + this.now, [])[0]!.clock_offset_s;
  }
}

t.test('a clock is known after two minutes of live events, by the earliest of the last minutes', (t) => {
  const jitter = (s: number) => 252 + ((s * 7) % 5);
  t.equal(new LateCamera().send(119, jitter).offset, null);
  const camera = new LateCamera().send(125, jitter);
  t.equal(camera.offset, -252);
  t.equal(camera.send(60, () => 253).offset, -252);
  t.equal(camera.send(1, () => -90).offset, null, 'it was set');
  t.equal(camera.send(125, () => -90).offset, 90);
  t.equal(camera.send(125, () => 3).offset, 90, 'set back: later events may be a backlog, for five minutes');
  t.equal(camera.send(330, () => 3).offset, -3);
  camera.table.clockWasSet();
  t.equal(camera.offset, null, 'the box has set its own');
  camera.now += 600 * S;
  t.equal(camera.send(1, () => 3).offset, null);
  t.end();
});

t.test('a backlog, and what a restart held up, is no clock', (t) => {
  const restarted = new LateCamera().send(1, () => 33);
  t.equal(restarted.offset, null);
  t.equal(restarted.send(60, () => 0.2).offset, null);
  t.equal(restarted.send(65, () => 0.2).offset, -0.2);
  t.equal(restarted.send(1, () => 33).offset, -0.2, 'a second restart');
  const drained = new LateCamera().send(600, (s) => 7_200 - 3 * s);
  t.equal(drained.offset, null, 'two hours of play, sent at four times the speed');
  const table = new SourceTable();
  const months = Array.from({ length: 100 }, (_, i) =>
    sent('a', 'court-1', WALL - 253 * 86_400 * S + i * 200),
  );
  for (const now of [S, 200 * S]) table.stored('c', months, WALL + now, now);
  t.equal(
    table.report(200 * S, WALL, [])[0]!.clock_offset_s,
    null,
    'the same hundred events of 253 days ago, twice',
  );
  t.end();
});

const [MIN, HOUR, DAY] = [60 * S, 3_600 * S, 86_400 * S];
const stateOf = (table: SourceTable, now: number) => table.report(now, WALL, [])[0]?.state;

t.test(
  'after three empty arrays a client is missed three minutes after the last, after a restart too',
  (t) => {
    const table = new SourceTable();
    const keeper = new Keeper();
    table.stored('c', [sent('a')], WALL, 0);
    for (const now of [MIN, 2 * MIN]) table.stored('c', [], WALL, now);
    t.equal(stateOf(table, HOUR), 'resting', 'two are none');
    for (let i = 0; i < 5; i++) table.stored('c', [], WALL, HOUR + i * 4 * MIN);
    t.equal(stateOf(table, 2 * HOUR), 'resting', 'nor are those that are too far apart');
    for (let i = 0; i < 3; i++) table.stored('c', [], WALL, 2 * HOUR + i * MIN);
    const last = 2 * HOUR + 2 * MIN;
    t.equal(stateOf(table, last + 3 * MIN), 'resting');
    t.equal(stateOf(table, last + 3 * MIN + 1), 'silent');
    table.refused(refusedOf('c'), last + 4 * MIN);
    t.equal(stateOf(table, last + 4 * MIN), 'resting', 'whoever is refused is there');
    table.keep(last + 5 * MIN, WALL, keeper.write);
    const restarted = keeper.restart(last + 5 * MIN);
    t.equal(stateOf(restarted, last + 8 * MIN), 'unknown');
    t.equal(stateOf(restarted, last + 8 * MIN + 1), 'silent');
    t.match(restarted.report(last + 9 * MIN, WALL, [])[0], { missing_s: 240 });
    restarted.stored('d', [sent('a')], WALL, last + 9 * MIN);
    t.equal(stateOf(restarted, last + 9 * MIN), 'sending', 'at another address, too');
    t.end();
  },
);

t.test('a source without signs of life is overdue after a week in which others sent', (t) => {
  const keeper = new Keeper();
  let table = new SourceTable();
  const hear = (source: string, day: number) =>
    table.stored('c', [sent(source)], WALL + day * DAY, day * DAY);
  const states = (day: number) =>
    table.report(day * DAY, WALL + day * DAY, []).map(({ source, state }) => `${source} ${state}`);
  for (const day of [0, 1]) hear('a', day);
  for (const day of [1, 2, 3]) hear('test', day === 3 ? 2.1 : 2);
  t.strictSame(states(60), ['a resting', 'test resting'], 'two months without play');
  for (let day = 60; day < 66; day++) hear('b', day);
  t.strictSame(states(66), ['a resting', 'b resting', 'test resting'], 'seven days');
  table.keep(66 * DAY, WALL + 66 * DAY, keeper.write);
  table = keeper.restart(66 * DAY, WALL + 66 * DAY);
  t.strictSame(states(66), ['a unknown', 'b unknown', 'test unknown']);
  for (let i = 0; i < 5; i++) hear('b', 66 + i / 100);
  t.strictSame(
    states(66.1),
    ['a overdue', 'b resting', 'test unknown'],
    'one that was there on one day was a test',
  );
  hear('a', 67);
  t.strictSame(states(67), ['a sending', 'b resting', 'test unknown']);
  t.end();
});

t.test('a venue is quiet if all courts stop at once, and not if they end one after the other', (t) => {
  const stopping = (...ends: number[]) => {
    const table = new SourceTable();
    const courts = [...ends.entries()];
    for (let now = 0; now <= Math.max(...ends); now += S) {
      for (const [i, end] of courts)
        if (now <= end) table.stored(`c${i}`, [sent('a', `court-${i}`)], WALL, now);
    }
    return table;
  };
  const end = HOUR / 2;
  const dead = stopping(end, end - 3 * S, end - S);
  t.equal(dead.quiet(end + 5 * MIN), null);
  t.strictSame(dead.quiet(end + 5 * MIN + 1), { for_s: 300, sources: 3 });
  t.equal(stopping(end, end - 11 * S, end - 20 * MIN).quiet(end + HOUR), null);
  t.equal(stopping(end, end - 20 * MIN).quiet(end + HOUR), null);
  t.equal(stopping(end).quiet(end + HOUR), null, 'with one court nobody can tell');
  dead.stored('c1', [], WALL, end + 6 * MIN);
  t.equal(dead.quiet(end + 6 * MIN), null, 'somebody is there');
  t.equal(new SourceTable().quiet(HOUR), null);
  t.end();
});

t.test('a thousand sources are remembered; the one that was silent longest makes room', (t) => {
  const table = new SourceTable();
  for (let i = 0; i < 1_100; i++) table.stored('c', [sent(`source-${i}`)], WALL, i * S);
  t.equal(table.report(1_100 * S, WALL, []).length, 1_000);
  table.stored('c', [sent('source-7')], WALL, 3_700 * S);
  table.keep(3_701 * S, WALL, () => true);
  table.stored('c', [sent('late')], WALL, 3_702 * S);
  const names = table.report(3_702 * S, WALL, []).map(({ source }) => source);
  t.ok(names.includes('late') && names.includes('source-7') && !names.includes('source-8'));
  const other = new SourceTable();
  other.stored('c', [sent('a')], WALL, S);
  const days = Array.from({ length: 32 }, (_, i) => (i + 1) * DAY);
  for (const now of days) other.stored('c', [sent('b')], WALL + now, now);
  other.keep(33 * DAY, WALL + 33 * DAY, () => true);
  const sources = () => other.report(33 * DAY, WALL, []).map(({ source }) => source);
  t.strictSame(sources(), ['b'], 'after a month on which others were heard');
  t.end();
});

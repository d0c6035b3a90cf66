import t from 'tap';
import type { CourtEvent } from '../../src/protocol/event.ts';
import { SourceTable } from '../../src/telemetry/sourceTable.ts';

/** A day of a venue in no time: the table takes its clock as an argument. */

const S = 1_000;
const WALL = Date.UTC(2026, 10, 22, 12);

function sent(source: string, courtId = 'court-1', eotMs = WALL): CourtEvent {
  return {
    eventId: 'e',
    sessionId: 's',
    venueId: 'v',
    courtId,
    eot: '',
    eotNs: BigInt(eotMs) * 1_000_000n,
    type: 'BALL_HIT',
    confidence: 1,
    source,
    schemaVersion: '1.0',
    revision: 0,
    payload: '{}',
    extra: null,
  };
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

t.test('a camera that often pauses for ten minutes is not missed for that', (t) => {
  const venue = new Venue();
  for (let i = 0; i < 3; i++) venue.play(60, { ball: 0.5, players: 0.25 }).play(540, { players: 0.25 });
  venue.play(60, { ball: 0.5, players: 0.25 });
  const before = venue.alarms.length;
  venue.play(540, { players: 0.25 });
  t.equal(venue.alarms.length, before);
  t.end();
});

t.test('an odd field is told until an hour has passed without one, and again when it comes', (t) => {
  const { table } = new Venue();
  const send = (atS: number, ...odd: string[]) =>
    table.stored('c', [{ ...sent('a'), ...(odd.length > 0 && { odd }) }], WALL, atS * S);
  const told = (atS: number) => table.report(atS * S, WALL, [])[0]?.odd_fields;
  send(0, 'kmh as text', 'player_id as a number');
  send(1_800, 'kmh as text');
  send(3_599);
  t.strictSame(told(3_600), ['kmh as text', 'player_id as a number']);
  t.strictSame(told(3_601), ['kmh as text']);
  t.strictSame(told(5_401), []);
  send(6_000, 'kmh as text');
  t.strictSame(told(6_000), ['kmh as text']);
  t.match(table.gauges(6_000 * S), [{ events: 4, oddEvents: 3 }]);
  t.end();
});

t.test('another court that plays says nothing of this one', (t) => {
  const { table } = new Venue();
  for (let now = 0; now < 20 * S; now += 250) table.stored('c', [sent('a'), sent('b', 'court-2')], WALL, now);
  for (let now = 20 * S; now < 600 * S; now += 250) table.stored('c', [sent('b', 'court-2')], WALL, now);
  t.match(table.report(600 * S, WALL, []), [{ source: 'a', state: 'resting' }, { state: 'sending' }]);
  t.end();
});

t.test('one request may be of several cameras: each is counted for itself', (t) => {
  const table = new SourceTable();
  const mixed = [sent('a'), sent('a'), sent('b'), sent('a'), sent('a', 'court-2')];
  table.stored('c', mixed, WALL, 5 * S);
  table.repeated([mixed[2]!, mixed[3]!], [mixed[3]!], 5 * S);
  t.match(table.report(6 * S, WALL, []), [
    {
      source: 'a',
      court_id: 'court-1',
      events_last_minute: 2,
      by_type: { BALL_HIT: 2 },
      duplicates: 1,
      conflicts: 1,
    },
    { source: 'b', court_id: 'court-1', events_last_minute: 0, by_type: {}, duplicates: 1, conflicts: 0 },
    { source: 'a', court_id: 'court-2', events_last_minute: 1, duplicates: 0 },
  ]);
  t.match(table.report(66 * S, WALL, [])[0], { events_last_minute: 0, events_last_day: 2 });
  t.end();
});

t.test(
  'the clock is that of the earliest event of the last minutes, and starts anew when the box has set its own',
  (t) => {
    const table = new SourceTable();
    const offset = (now: number) => table.report(now, WALL, [])[0]!.clock_offset_s;
    for (const late of [400, 252, 300, 253])
      table.stored('c', [sent('a', 'court-1', WALL - late * S)], WALL, S);
    t.equal(offset(2 * S), -252);
    t.equal(offset(400 * S), null, 'nothing has come for minutes');
    table.stored('c', [sent('a', 'court-1', WALL + 90 * S)], WALL, 401 * S);
    t.equal(offset(401 * S), 90);
    table.clockWasSet();
    t.equal(offset(402 * S), null);
    t.end();
  },
);

t.test('a thousand sources are told apart; one that was not heard of for long makes room', (t) => {
  const table = new SourceTable();
  for (let i = 0; i < 1_100; i++) table.stored('c', [sent(`source-${i}`)], WALL, i * S);
  t.equal(table.report(1_100 * S, WALL, []).length, 1_000);
  table.stored('c', [sent('source-7')], WALL, 3_700 * S);
  table.stored('c', [sent('late')], WALL, 3_702 * S);
  const names = table.report(3_702 * S, WALL, []).map(({ source }) => source);
  t.ok(names.includes('late') && names.includes('source-7') && !names.includes('source-8'));
  const quiet = new SourceTable();
  quiet.stored('c', [sent('a')], WALL, S);
  const month = 31 * 86_400 * S;
  quiet.stored('c', [sent('b')], WALL, month);
  t.match(quiet.report(month, WALL, []), [{ source: 'b' }]);
  t.equal(quiet.report(month, WALL, []).length, 1);
  t.end();
});

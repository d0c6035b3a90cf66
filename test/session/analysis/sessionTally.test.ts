import t from 'tap';
import { COURTS } from '../../../src/protocol/courtLines.ts';
import type { EventType } from '../../../src/protocol/eventTypes.ts';
import { halfFrame, linesOf, netOf, type YFrom } from '../../../src/session/analysis/court.ts';
import { SessionTally, type TallyOptions } from '../../../src/session/analysis/sessionTally.ts';
import { reader } from '../../harness/readEvents.ts';

const read = reader();
const bounce = (eotMs: number, x_ft: number, y_ft: number, more: object = {}) =>
  read({ type: 'BALL_BOUNCE', eotMs, ...more }, { x_ft, y_ft, is_in: true });
const hit = (eotMs: number, shot_type: string, more: object = {}) =>
  read({ type: 'BALL_HIT', eotMs, ...more }, { shot_type });
const speed = (kmh: unknown, more: object = {}) => read({ type: 'BALL_SPEED', ...more }, { kmh });

function tallyOf(
  events: readonly ReturnType<typeof read>[],
  options: Partial<TallyOptions> = {},
): SessionTally {
  const tally = new SessionTally({ lines: 'badminton', ...options });
  for (const event of events) tally.add(event);
  tally.end();
  return tally;
}

const landings = (tally: SessionTally) =>
  tally.landings().map(([shot, { points }]) => [shot, points?.map(({ x }) => x)]);

t.test('a landing belongs to the last hit on its court, which lands once', (t) => {
  const tally = tallyOf([
    hit(1_000, 'smash'),
    hit(1_000, 'lob', { courtId: 'court-2' }),
    bounce(1_400, 1, 1),
    bounce(1_900, 2, 1),
    // The bounce arrived before the hit of the same moment.
    bounce(3_000, 3, 1),
    hit(3_000, 'drop'),
    hit(4_000, 'net_shot', { current: false }),
    bounce(4_500, 5, 1),
    hit(5_000, 'clear'),
    bounce(15_001, 4, 1),
    read({ type: 'BALL_BOUNCE', eotMs: 15_002 }, { x_ft: 6, y_ft: 1, is_in: false, shot_type: 'serve' }),
  ]);
  t.strictSame(landings(tally), [
    ['drop', [3]],
    ['serve', [6]],
    ['smash', [1]],
    ['no shot type', [2, 5, 4]],
  ]);
  t.end();
});

t.test('an event of a type that is not known is counted, and drawn as no bounce', (t) => {
  const type = 'NET_FAULT' as EventType;
  const tally = tallyOf([read({ type }, { x_ft: 1, y_ft: 1, is_in: true }), bounce(3_000, 2, 1)]);
  t.strictSame(landings(tally), [['no shot type', [2]]]);
  t.strictSame([tally.current, tally.byType.get(type)], [2, 1]);
  t.end();
});

t.test(
  'median and 95th percentile of ball speed are those of a spreadsheet, of current revisions only',
  (t) => {
    const { speeds, speedsLeftOut } = tallyOf([
      ...[40, 10, 30, 20].map((kmh) => speed(kmh)),
      speed(999, { current: false }),
      ...[-1, 1_000.1, '50', undefined].map((kmh) => speed(kmh)),
    ]);
    t.equal(speeds.quantile(0.5), 25);
    t.ok(Math.abs(speeds.quantile(0.95)! - 38.5) < 1e-9, `${speeds.quantile(0.95)}`);
    t.strictSame([speeds.total, speedsLeftOut], [4, 4]);
    t.equal(tallyOf([]).speeds.quantile(0.5), undefined);
    t.end();
  },
);

t.test('y counts from the base line or the net, as positions tell, unless it is given', (t) => {
  const frameOf = (from: number, to: number, more: Partial<TallyOptions> = {}, count = 30) => {
    const positions = Array.from({ length: count }, (_, i) => bounce(i, 10, from + (i * (to - from)) / 29));
    return tallyOf(positions, more).frames.found().frame;
  };
  const net = { isHalf: true, yFrom: 'net', y1: -2, y2: 27 };
  const base = { isHalf: true, yFrom: 'base', y1: -5, y2: 24 };
  const whole = { isHalf: false, yFrom: 'base', y1: -5, y2: 49 };
  t.match(frameOf(0, 23), net, 'out behind the base line');
  t.match(frameOf(-1, 21), base, 'the same, turned round');
  t.match(frameOf(1, 21), net, 'where nothing tells');
  t.match(frameOf(0, 43), whole);
  t.match(frameOf(-1, 21, {}, 5), whole, 'too few to tell');
  t.match(frameOf(0, 23, { yFrom: 'base' }), base);
  t.match(frameOf(-1, 21, { yFrom: 'net' }), net);
  t.match(frameOf(-1, 21, { yFrom: 'net' }, 5), net);
  t.match(frameOf(0, 43, { yFrom: 'net' }), net);
  t.match(frameOf(0, 43, { yFrom: 'base' }), whole);
  t.match(frameOf(0, 23, { lines: 'none' }), { isHalf: false, x1: 5, y1: -5, y2: 25 });
  t.end();
});

t.test('half a court has the lines of its half, whichever end y counts from', (t) => {
  const ys = (yFrom: YFrom) =>
    linesOf(halfFrame(COURTS.pickleball!, yFrom)).map(({ y1, y2 }) => [y1, y2].sort((a, b) => a - b));
  t.strictSame(ys('base'), [
    [0, 0],
    [0, 22],
    [0, 22],
    [15, 15],
    [0, 15],
  ]);
  t.strictSame(ys('net'), [
    [22, 22],
    [0, 22],
    [0, 22],
    [7, 7],
    [7, 22],
  ]);
  t.strictSame(
    [netOf(halfFrame(COURTS.pickleball!, 'base')), netOf(halfFrame(COURTS.pickleball!, 'net'))],
    [22, 0],
  );
  t.end();
});

t.test('a field of another type counts as in the columns of an export', (t) => {
  const at = (x_ft: unknown, player_id: unknown, is_in?: unknown) =>
    read({ type: 'PLAYER_POSITION' }, { x_ft, y_ft: 2, player_id, is_in });
  const tally = tallyOf([
    ...[at(1, 7), at(1, true), at(1, null), at(1, ['Ann'])],
    ...[at('1', 'Ben'), at(null, 'Ben')],
    read({ type: 'BALL_BOUNCE', eotMs: 1 }, { x_ft: 1, y_ft: 2, is_in: null, shot_type: 8 }),
  ]);
  t.strictSame([...tally.positions.keys()], ['7', 'true', 'no player_id']);
  t.equal(tally.positionsLeftOut, 2);
  t.match(tally.landings(), [['8', { counts: { in: 0, out: 0, 'not judged': 1 } }]]);
  t.end();
});

t.test('a landing outside the frame is listed with its own position, and is in every count', (t) => {
  const tally = tallyOf([bounce(1, 10, 30), bounce(2, -5.01, 30), bounce(3, 10, 1e300, { eventId: 'far' })]);
  const { outside } = tally.frames.found();
  t.strictSame(
    outside.listed.map(({ x, y }) => [x, y]),
    [
      [-5.01, 30],
      [10, 1e300],
    ],
  );
  t.equal(outside.listed[1]?.eventId, 'far');
  t.equal(tally.landings()[0]?.[1].counts.in, 3);
  t.end();
});

t.test('confidence is compared only where an event was revised', (t) => {
  const revised = (current: boolean, revision: number, confidence: number) =>
    hit(1, 'lob', { current, revision, confidence });
  const { revised: byType } = tallyOf([
    revised(false, 0, 0.4),
    revised(false, 1, 0.7),
    revised(true, 2, 0.9),
    revised(true, 0, 0.1),
  ]);
  const { before, after } = byType.get('BALL_HIT')!;
  t.strictSame([before.total, before.quantile(0.5), after.total, after.quantile(0.5)], [1, 0.4, 1, 0.9]);
  t.end();
});

t.test('a session of days takes longer steps, and no more of them; its longest pauses are kept', (t) => {
  const hits = 3_000;
  const { timeline, pauses } = tallyOf([
    ...Array.from({ length: hits }, (_, i) => hit(i * 180_000 * (i === hits - 1 ? 2 : 1), 'lob')),
    hit((hits - 1) * 360_000 + 179_999, 'lob'),
  ]);
  t.ok(timeline.steps.length <= 720, `${timeline.steps.length} steps`);
  t.equal(timeline.stepMs, 16 * 60_000);
  t.equal(
    timeline.steps.reduce((sum, { counts }) => sum + counts.get('BALL_HIT')!, 0),
    hits + 1,
  );
  t.equal(pauses.total, hits - 1, 'shorter ones are between rallies and games');
  t.equal(pauses.longest().at(-1)?.toMs, (hits - 1) * 360_000);
  t.equal(pauses.longest().length, 10);
  t.end();
});

t.test('players are named by current hits, positions and identities, with or without a position', (t) => {
  const named = (type: EventType, player_id: unknown, more: object = {}) =>
    read({ type, ...more }, { player_id, x_ft: 1, y_ft: 1 });
  const { players } = tallyOf([
    named('BALL_HIT', 'p 10'),
    named('PLAYER_IDENTITY', 'p 9'),
    read({ type: 'PLAYER_POSITION' }, { player_id: 'p 8' }),
    named('PLAYER_POSITION', 'p 9'),
    named('PLAYER_POSITION', undefined),
    named('BALL_HIT', 'p 1', { current: false }),
    named('BALL_BOUNCE', 'p 2'),
  ]);
  t.strictSame([players.sorted(), players.size, players.hasMore], [['p 8', 'p 9', 'p 10'], 3, false]);
  t.end();
});

t.test('names without end take bounded memory, and every event is counted', (t) => {
  const tally = tallyOf(
    Array.from({ length: 500 }, (_, i) => [
      hit(2 * i, `shot ${i}`, { source: `camera ${i}` }),
      bounce(2 * i + 1, 10, 10),
      read({ type: 'PLAYER_POSITION', eotMs: 2 * i + 1 }, { player_id: `p ${i}`, x_ft: 1, y_ft: 1 }),
    ]).flat(),
  );
  const maps = tally.landings();
  t.equal(maps.length, 33);
  t.strictSame([maps.at(-1)?.[0], maps.at(-1)?.[1].total], ['other shot types', 500 - 32]);
  t.strictSame([tally.positions.size, tally.positionsLeftOut], [16, 500 - 16]);
  t.strictSame([tally.players.size, tally.players.hasMore, tally.courts.hasMore], [16, true, false]);
  t.equal(tally.sources.entries().length, 101);
  t.end();
});

t.test('a landing whose event is at revision 0 is preliminary, whatever its source sends else', (t) => {
  const { preliminary } = tallyOf([
    hit(1_000, 'smash'),
    bounce(1_400, 1, 1, { eventId: 'left', revision: 0 }),
    bounce(2_000, 2, 1, { eventId: 'corrected', revision: 0, current: false }),
    bounce(2_000, 3, 1, { eventId: 'corrected', revision: 4 }),
    read({ type: 'BALL_BOUNCE', eotMs: 3_000, eventId: 'no place', revision: 0 }, {}),
  ]);
  t.match(preliminary, {
    total: 2,
    listed: [
      { eventId: 'left', shotType: 'smash', x: 1, verdict: 'in' },
      { eventId: 'no place', x: undefined, verdict: 'not judged' },
    ],
  });
  for (let i = 0; i < 200; i++) preliminary.add(preliminary.listed[0]!);
  t.strictSame([preliminary.total, preliminary.listed.length], [202, 100]);
  t.end();
});

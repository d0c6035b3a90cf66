import t from 'tap';
import { COURTS } from '../../../src/protocol/courtLines.ts';
import type { EventType } from '../../../src/protocol/eventTypes.ts';
import { halfFrame, linesOf, netOf, type YFrom } from '../../../src/session/analysis/mapFrame.ts';
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

/** @returns the landings of the only player, by shot type. */
const landings = (tally: SessionTally) =>
  strokes(tally)
    .filter(([, { landings }]) => landings.total > 0)
    .map(([shot, { landings }]) => [shot, landings.points?.map(({ x }) => x)]);
const strokes = (tally: SessionTally) => tally.players.of(undefined).strokes.entries();
const ids = (tally: SessionTally) => tally.players.entries().map(([id]) => id);

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
    ['no shot type', [4]],
  ]);
  t.equal(tally.secondBounces, 2);
  t.end();
});

const by = (player_id: string | undefined, eotMs: number, shot_type = 'drive', more: object = {}) =>
  read({ type: 'BALL_HIT', eotMs, ...more }, { player_id, shot_type });

t.test('a landing and a speed are of the player that they name, or of the hit that they follow', (t) => {
  const tally = tallyOf(
    [
      by('Ann', 1_000, 'serve'),
      speed(100, { eotMs: 1_020 }),
      bounce(1_500, 1, 1),
      // The second bounce is of nobody, unless it says so.
      bounce(2_000, 2, 1),
      read({ type: 'BALL_BOUNCE', eotMs: 2_300 }, { is_in: true, player_id: 'Cleo' }),
      by('Ben', 10_000),
      read({ type: 'BALL_BOUNCE', eotMs: 10_300 }, { x_ft: 3, y_ft: 1, is_in: false, player_id: 'Cleo' }),
      read({ type: 'BALL_SPEED', eotMs: 10_400 }, { kmh: 60, player_id: 'Cleo' }),
      by(undefined, 20_000, 'lob'),
      bounce(20_500, 4, 1),
      speed(40, { eotMs: 24_001 }),
    ],
    { lines: 'tennis' },
  );
  const told = tally.players
    .entries()
    .map(([id, player]) => [
      id,
      ...player.strokes
        .entries()
        .map(([shot, { hits, landings }]) => `${shot}: ${hits} hits, ${landings.total} landings`),
      player.speeds(false).quantile(0.5),
    ]);
  t.strictSame(told, [
    ['Ann', 'serve: 1 hits, 1 landings', 100],
    ['Ben', 'drive: 1 hits, 0 landings', undefined],
    ['Cleo', 'no shot type: 0 hits, 2 landings', 60],
    ['no player_id', 'lob: 1 hits, 1 landings', 'no shot type: 0 hits, 0 landings', 40],
  ]);
  t.end();
});

t.test(
  'a speed of the time of a hit is of the flight that the hit ends, unless first hits have one, too',
  (t) => {
    const medians = (tally: SessionTally) =>
      ['Ann', 'Ben'].map((id) => tally.players.of(id).speeds(tally.rallies.areSpeedsAtHits).quantile(0.5));
    const rally = [by('Ann', 1_000), by('Ben', 2_000), speed(80, { eotMs: 2_000 }), by('Ann', 3_000)];
    const atEnd = tallyOf([...rally, speed(60, { eotMs: 3_000 })]);
    t.strictSame([atEnd.rallies.areSpeedsAtHits, ...medians(atEnd)], [false, 80, 60]);
    const atHit = tallyOf([speed(70, { eotMs: 1_000 }), ...rally, speed(90, { eotMs: 3_000 })]);
    t.strictSame([atHit.rallies.areSpeedsAtHits, ...medians(atHit)], [true, 80, 80]);
    t.end();
  },
);

t.test('speeds a moment before a hit are counted, since they may be of that hit', (t) => {
  const before = (...atMs: number[]) =>
    tallyOf([
      by('Ann', 1_000),
      ...atMs.map((eotMs) => speed(50, { eotMs })),
      read({ type: 'BALL_SPEED', eotMs: 1_995 }, { kmh: 50, player_id: 'Ann' }),
      by('Ben', 2_000),
      by('Ann', 3_000),
    ]).rallies.speedsBeforeHits;
  t.strictSame([before(1_949), before(1_950), before(1_999)], [0, 1, 1]);
  t.equal(before(1_000), 0, 'of the time of a hit');
  t.end();
});

t.test(
  'a rally ends with a landing that is out, a second bounce or a pause; in badminton with any landing',
  (t) => {
    const events = [
      by('Ann', 1_000),
      bounce(1_500, 1, 1),
      by('Ben', 2_000),
      read({ type: 'BALL_BOUNCE', eotMs: 2_500 }, { x_ft: 30, y_ft: 1, is_in: false }),
      by('Ann', 3_000),
      by('Ben', 4_000),
      bounce(4_400, 1, 1),
      bounce(4_900, 1, 2),
      by('Ann', 5_500),
      by('Ben', 9_600),
      by('Ann', 9_700, 'drive', { courtId: 'court-2' }),
      by('Ben', 10_000),
    ];
    const told = (tally: SessionTally) => ({
      lengths: tally.rallyLengths.entries(),
      ended: ['Ann', 'Ben'].map((id) => tally.players.of(id).ended),
      longest: tally.longestRally?.startMs,
    });
    t.match(told(tallyOf(events, { lines: 'tennis' })), {
      lengths: [
        [1, 2],
        [2, 3],
      ],
      ended: [
        { in: 0, out: 0, 'not seen': 2 },
        { in: 1, out: 1, 'not seen': 1 },
      ],
      longest: 1_000,
    });
    t.match(told(tallyOf(events)).ended, [
      { in: 1, out: 0, 'not seen': 2 },
      { in: 1, out: 1, 'not seen': 1 },
    ]);
    t.end();
  },
);

t.test('the way of a player is counted from place to place, and not over a gap, a jump or a tremble', (t) => {
  const at = (eotMs: number, x_ft: number) =>
    read({ type: 'PLAYER_POSITION', eotMs }, { player_id: 'Ann', x_ft, y_ft: 5 });
  const ran = (...events: ReturnType<typeof read>[]) => tallyOf(events).players.of('Ann').run.ft;
  t.equal(ran(at(0, 0), at(500, 6), at(1_000, 0)), 12);
  t.equal(ran(at(0, 0), at(5_001, 6), at(5_500, 8)), 2, 'a gap');
  t.equal(tallyOf([at(0, 0), at(5_001, 6), at(5_500, 8)]).players.of('Ann').run.seenMs, 499);
  t.equal(ran(at(0, 0), at(100, 30), at(200, 33)), 3, 'a jump');
  t.equal(ran(...Array.from({ length: 600 }, (_, i) => at(i * 100, i % 2))), 0, 'a tremble');
  t.equal(ran(...Array.from({ length: 31 }, (_, i) => at(i * 100, i))), 30, 'slow, and all of it');
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
    const tally = tallyOf([
      ...[40, 10, 30, 20].map((kmh) => speed(kmh)),
      speed(999, { current: false }),
      ...[-1, 1_000.1, '50', undefined].map((kmh) => speed(kmh)),
    ]);
    const speeds = tally.players.of(undefined).speeds(false);
    t.equal(speeds.quantile(0.5), 25);
    t.ok(Math.abs(speeds.quantile(0.95)! - 38.5) < 1e-9, `${speeds.quantile(0.95)}`);
    t.strictSame([speeds.total, tally.speedsLeftOut], [4, 4]);
    t.strictSame(ids(tallyOf([])), []);
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
  t.strictSame(
    tally.players.entries().map(([id, { positions }]) => [id, positions.total]),
    [
      ['7', 1],
      ['Ben', 0],
      ['true', 1],
      ['no player_id', 2],
    ],
  );
  t.equal(tally.positionsLeftOut, 2);
  t.match(strokes(tally), [['8', { landings: { counts: { in: 0, out: 0, 'not judged': 1 } } }]]);
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

t.test('players are named by any current event, with or without a position', (t) => {
  const named = (type: EventType, player_id: unknown, more: object = {}) =>
    read({ type, ...more }, { player_id, x_ft: 1, y_ft: 1 });
  const tally = tallyOf([
    named('BALL_HIT', 'p 10'),
    named('PLAYER_IDENTITY', 'p 9'),
    read({ type: 'PLAYER_POSITION' }, { player_id: 'p 8' }),
    named('PLAYER_POSITION', 'p 9'),
    named('PLAYER_POSITION', undefined),
    named('BALL_HIT', 'p 1', { current: false }),
    named('BALL_BOUNCE', 'p 2'),
  ]);
  t.strictSame(ids(tally), ['p 2', 'p 8', 'p 9', 'p 10', 'no player_id']);
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
  const shots = strokes(tally);
  t.equal(shots.length, 33);
  t.strictSame([shots.at(-1)?.[0], shots.at(-1)?.[1].landings.total], ['other shot types', 500 - 32]);
  const positions = tally.players.entries().map(([id, { positions }]) => [id, positions.total]);
  t.equal(positions.length, 18);
  t.strictSame(positions.slice(-2), [
    ['other players', 500 - 16],
    ['no player_id', 0],
  ]);
  t.strictSame(tally.courts.entries(), [['court-1', null]]);
  t.equal(tally.sources.entries().length, 101);
  t.end();
});

t.test('a landing whose event is at revision 0 is preliminary, whatever its source sends else', (t) => {
  const { preliminary } = tallyOf([
    hit(1_000, 'smash'),
    bounce(1_400, 1, 1, { eventId: 'left', revision: 0 }),
    bounce(2_000, 2, 1, { eventId: 'corrected', revision: 0, current: false }),
    bounce(2_000, 3, 1, { eventId: 'corrected', revision: 4 }),
    read({ type: 'BALL_BOUNCE', eotMs: 9_000, eventId: 'no place', revision: 0 }, {}),
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

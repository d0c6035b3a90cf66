import t from 'tap';
import type { CourtName } from '../../../src/protocol/courtLines.ts';
import type { EventType } from '../../../src/protocol/eventTypes.ts';
import { SessionTally } from '../../../src/session/analysis/sessionTally.ts';
import { reader } from '../../harness/readEvents.ts';

const read = reader();
const bounce = (eotMs: number, x_ft: number, y_ft: number, is_in = true) =>
  read({ type: 'BALL_BOUNCE', eotMs }, { x_ft, y_ft, is_in });
const hit = (eotMs: number, shot_type: string, more: object = {}) =>
  read({ type: 'BALL_HIT', eotMs, ...more }, { shot_type });
const speed = (kmh: unknown, more: object = {}) => read({ type: 'BALL_SPEED', ...more }, { kmh });

function tallyOf(events: readonly ReturnType<typeof read>[], lines: CourtName = 'badminton'): SessionTally {
  const tally = new SessionTally(lines);
  for (const event of events) tally.add(event);
  tally.end();
  return tally;
}

/** @returns the landings of the only player, by shot type. */
const landings = (tally: SessionTally) =>
  strokes(tally)
    .filter(([, { landings }]) => landings.total > 0)
    .map(([shot, { landings }]) => [shot, landings.points.map(({ x }) => x)]);
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
  t.equal(tally.leftOut['further bounce'], 2);
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
    'tennis',
  );
  const told = tally.players
    .entries()
    .map(([id, player]) => [
      id,
      ...player.strokes
        .entries()
        .map(([shot, { hits, landings }]) => `${shot}: ${hits} hits, ${landings.total} landings`),
      player.speeds.quantile(0.5),
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
  'a rally ends with a landing that is out, a second bounce or a pause; in badminton with any landing',
  (t) => {
    const events = [
      by('Ann', 1_000),
      bounce(1_500, 1, 1),
      by('Ben', 2_000),
      bounce(2_500, 30, 1, false),
      by('Ann', 3_000),
      by('Ben', 4_000),
      bounce(4_400, 1, 1),
      bounce(4_900, 1, 2, false),
      by('Ann', 5_500),
      by('Ben', 9_600),
      by('Ann', 9_700, 'drive', { courtId: 'court-2' }),
      by('Ben', 10_000),
    ];
    const told = (tally: SessionTally) => ({
      lengths: tally.rallyLengths.entries(),
      ended: ['Ann', 'Ben'].map((id) => tally.players.of(id).ended),
      longest: tally.longestRally?.startMs,
      won: ['Ann', 'Ben'].map((id) => tally.players.of(id).won),
    });
    t.match(told(tallyOf(events, 'tennis')), {
      lengths: [
        [1, 2],
        [2, 3],
      ],
      ended: [
        { in: 0, out: 0, 'not seen': 2 },
        { in: 1, out: 1, 'not seen': 1 },
      ],
      longest: 1_000,
      // Ben's shot that was out, and the one of theirs that nobody reached.
      won: [1, 1],
    });
    t.match(told(tallyOf(events)).ended, [
      { in: 1, out: 0, 'not seen': 2 },
      { in: 1, out: 1, 'not seen': 1 },
    ]);
    t.end();
  },
);

t.test(
  'median and 95th percentile of ball speed are those of a spreadsheet, of current revisions only',
  (t) => {
    const tally = tallyOf([
      ...[40, 10, 30, 20].map((kmh) => speed(kmh)),
      speed(999, { current: false }),
      ...[-1, 1_000.1, '50', undefined].map((kmh) => speed(kmh)),
    ]);
    const speeds = tally.players.of(undefined).speeds;
    t.equal(speeds.quantile(0.5), 25);
    t.ok(Math.abs(speeds.quantile(0.95)! - 38.5) < 1e-9, `${speeds.quantile(0.95)}`);
    t.strictSame([speeds.total, tally.leftOut.speed], [4, 4]);
    t.end();
  },
);

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
  t.end();
});

t.test(
  'a rally that ended with a service out is won by the only other player, and in doubles by nobody',
  (t) => {
    const out = read({ type: 'BALL_BOUNCE', eotMs: 1_500 }, { is_in: false });
    const named = (player_id: string) => read({ type: 'PLAYER_IDENTITY' }, { player_id });
    const won = (...names: string[]) => {
      const tally = tallyOf([...names.map(named), by('Ann', 1_000), out], 'tennis');
      return tally.players.entries().map(([, { won }]) => won);
    };
    t.strictSame(won('Ann', 'Ben'), [0, 1]);
    t.strictSame(won('Ann', 'Ben', 'Cleo', 'Dan'), [0, 0, 0, 0]);
    t.end();
  },
);

import t from 'tap';
import { decodeBatch } from '../../../src/protocol/decodeBatch.ts';
import { EVENT_TYPES } from '../../../src/protocol/eventTypes.ts';
import { SimulatedCourt } from '../../../src/vendor/simulate/court.ts';
import { Random } from '../../../src/vendor/simulate/random.ts';
import { sampleEvents } from '../../../src/vendor/simulate/sampleEvents.ts';
import { type SportName, sportOf } from '../../../src/vendor/simulate/sports.ts';
import { eventText, Venue } from '../../../src/vendor/simulate/venue.ts';

const GAME = { sport: 'pickleball' } as const;

t.test('a seed makes the same match, however time is cut, and another seed another', (t) => {
  const whole = new SimulatedCourt(new Random(7), 'pickleball').until(60);
  const court = new SimulatedCourt(new Random(7), 'pickleball');
  const steps = Array.from({ length: 601 }, (_, i) => court.until(i / 10));
  // As texts: comparing so many objects takes tap half a minute.
  t.ok(JSON.stringify(steps.flat()) === JSON.stringify(whole));
  t.ok(JSON.stringify(new SimulatedCourt(new Random(8), 'pickleball').until(60)) !== JSON.stringify(whole));
  t.equal(new Set(whole.map((one) => `${one.eventId} ${one.revision}`)).size, whole.length);
  t.end();
});

t.test('a minute of a court has every type, 10 Hz of positions, confirmations and late events', (t) => {
  const all = new SimulatedCourt(new Random(1), 'pickleball').until(60);
  t.strictSame(new Set(all.map(({ type }) => type)), new Set(EVENT_TYPES));
  const positions = all.filter(({ type }) => type === 'PLAYER_POSITION');
  t.ok(positions.length > 1_000 && positions.length <= 1_202, `${positions.length} of two players`);
  const confirmed = all.filter(({ revision }) => revision === 1);
  t.ok(confirmed.length > 20, `${confirmed.length} confirmed`);
  for (const one of confirmed) {
    const first = all.findIndex((other) => other.eventId === one.eventId && other.revision === 0);
    t.ok(first >= 0 && first < all.indexOf(one), 'after the preliminary one');
  }
  t.ok(
    all.some(({ atS, readyS }) => readyS - atS > 3),
    'late',
  );
  t.ok(
    all.some(({ atS }, i) => i > 0 && atS < all[i - 1]!.atS),
    'out of order',
  );
  t.ok(all.every(({ atS, readyS }) => readyS > atS && readyS <= 60));
  t.end();
});

t.test('a match is one of its sport: its shots, its speeds, and balls that land on its court', (t) => {
  const matchOf = (sport: SportName) => {
    const all = new SimulatedCourt(new Random(1), sport).until(600);
    const of = (type: string) => all.filter((one) => one.type === type).map(({ payload }) => payload);
    const hits = all.filter(({ type, revision }) => type === 'BALL_HIT' && revision === 0);
    const bounces = all.filter(({ type, revision }) => type === 'BALL_BOUNCE' && revision === 1);
    const inside = bounces.filter(({ payload }) => payload.is_in === true).map(({ payload }) => payload);
    return {
      shots: [...new Set(of('BALL_HIT').map(({ shot_type }) => shot_type))].sort(),
      kmh: of('BALL_SPEED').map(({ kmh }) => Number(kmh)),
      strokes: hits.length,
      bounces: bounces.length,
      inShare: inside.length / bounces.length,
      width: Math.max(...inside.map(({ x_ft }) => Number(x_ft))),
      length: Math.max(...inside.map(({ y_ft }) => Number(y_ft))),
    };
  };
  const pickleball = matchOf('pickleball');
  const shots = ['dink', 'drive', 'drop', 'lob', 'return', 'serve', 'smash', 'volley'];
  t.strictSame(pickleball.shots, shots);
  t.ok(
    pickleball.kmh.every((kmh) => kmh >= 20 && kmh <= 90),
    'from 20 to 90 km/h',
  );
  t.ok(pickleball.kmh.some((kmh) => kmh < 30) && pickleball.kmh.some((kmh) => kmh > 70));
  for (const sport of ['pickleball', 'badminton', 'tennis', 'padel'] as const) {
    const { court } = sportOf(sport);
    const { strokes, bounces, inShare, width, length } = matchOf(sport);
    t.ok(strokes > 150, `${sport}: ${strokes} strokes in ten minutes`);
    t.ok(inShare > 0.6 && inShare < 0.97, `${sport}: ${inShare} in`);
    t.ok(width <= court.width && width > 0.8 * court.width, `${sport}: ${width} ft`);
    t.ok(length <= court.length && length > 0.8 * court.length, `${sport}: ${length} ft`);
    t.equal(bounces < strokes / 3, sport === 'badminton', 'where a landing ends the rally there are few');
  }
  t.ok(Math.max(...matchOf('badminton').kmh) > 200);
  t.ok(matchOf('tennis').shots.includes('topspin'));
  t.end();
});

t.test('some cameras misbehave, and none of a clean venue', (t) => {
  const faults = (courts: number, clean: boolean) =>
    new Venue({ ...GAME, courts, seed: 1, clean, run: 'x' }).cameras
      .flatMap(({ fault }) => fault ?? [])
      .sort();
  for (const courts of [1, 2, 3, 9])
    t.strictSame(
      faults(courts, false),
      ['falls silent', 'forgets revision', ...(courts > 1 ? ['odd fields'] : []), 'wrong clock'],
      `${courts} courts`,
    );
  t.strictSame(faults(9, true), []);
  const sendings = new Venue({ ...GAME, courts: 2, seed: 1, clean: false, run: 'x' }).until(60);
  const sent = (fault: string, elapsedS: number) =>
    sendings
      .filter(({ camera }) => camera.fault === fault)
      .flatMap((sending) => eventText(sending, 0, elapsedS) ?? [])
      .map((text) => JSON.parse(text));
  t.ok(sent('wrong clock', 0).every(({ eot }) => eot === '1969-12-31T23:55:48.000Z'));
  t.ok(sent('falls silent', 10).length > 0);
  t.strictSame(sent('falls silent', 60), []);
  t.ok(sent('odd fields', 0).length > 0);
  t.ok(sent('odd fields', 0).every(({ payload }) => typeof payload.kmh === 'string'));
  t.strictSame([...new Set(sent('forgets revision', 0).map(({ revision }) => revision))], [0]);
  t.end();
});

t.test('the events that are printed are valid, of every type, and the same each time', (t) => {
  const text = sampleEvents({ ...GAME, courts: 2, seed: 3 }, 100);
  t.equal(sampleEvents({ ...GAME, courts: 2, seed: 3 }, 100), text);
  t.not(sampleEvents({ ...GAME, courts: 2, seed: 4 }, 100), text);
  const lines = text.trimEnd().split('\n');
  t.equal(lines.length, 100);
  const events = lines.flatMap((line) => decodeBatch(Buffer.from(line)));
  t.strictSame(new Set(events.map(({ type }) => type)), new Set(EVENT_TYPES));
  t.ok(events.some(({ revision }) => revision === 1));
  t.end();
});

import t from 'tap';
import { decodeBatch } from '../../../src/protocol/decodeBatch.ts';
import { EVENT_TYPES } from '../../../src/protocol/eventTypes.ts';
import { SimulatedCourt } from '../../../src/vendor/simulate/court.ts';
import { Random } from '../../../src/vendor/simulate/random.ts';
import { Venue } from '../../../src/vendor/simulate/venue.ts';

/** When a match begins: a constant, so that a seed always makes the same text. */
const BEGIN_MS = Date.UTC(2026, 2, 14, 15, 0, 0);
/** One position in this many is written, so that a hundred events include every type. */
const WRITTEN_POSITIONS = 5;

/** @returns that many events of a simulated match on one court, as NDJSON. The same for the same seed. */
function matchLines(count: number, seed = 1): string {
  const venue = new Venue({ courts: 1, seed, clean: true, run: 'sample' });
  const lines: string[] = [];
  let positions = 0;
  for (let matchS = 0; lines.length < count; matchS += 1) {
    for (const { detection, text } of venue.until(matchS, BEGIN_MS)) {
      if (detection.type === 'PLAYER_POSITION' && positions++ % WRITTEN_POSITIONS > 0) continue;
      lines.push(`${text}\n`);
    }
  }
  return lines.slice(0, count).join('');
}

t.test('a seed makes the same match, however time is cut, and another seed another', (t) => {
  const whole = new SimulatedCourt(new Random(7)).until(60);
  const court = new SimulatedCourt(new Random(7));
  const steps = Array.from({ length: 601 }, (_, i) => court.until(i / 10));
  // As texts: comparing so many objects takes tap half a minute.
  t.ok(JSON.stringify(steps.flat()) === JSON.stringify(whole));
  t.ok(JSON.stringify(new SimulatedCourt(new Random(8)).until(60)) !== JSON.stringify(whole));
  t.equal(new Set(whole.map((one) => `${one.eventId} ${one.revision}`)).size, whole.length);
  t.end();
});

t.test('a minute of a court has every type, 10 Hz of positions, confirmations and late events', (t) => {
  const all = new SimulatedCourt(new Random(1)).until(60);
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

t.test('two cameras misbehave, and none of a clean venue', (t) => {
  const faults = (courts: number, clean: boolean) =>
    new Venue({ courts, seed: 1, clean, run: 'x' }).cameras.flatMap(({ fault }) => fault ?? []).sort();
  for (const courts of [1, 2, 9])
    t.strictSame(faults(courts, false), ['falls silent', 'wrong clock'], `${courts} courts`);
  t.strictSame(faults(9, true), []);
  const venue = new Venue({ courts: 2, seed: 1, clean: false, run: 'x' });
  const [early, late] = [venue.until(10, 0), venue.until(60, 0)];
  const of = (fault: string, all: typeof late) => all.filter(({ camera }) => camera.fault === fault);
  const wrong = of('wrong clock', late);
  const behindMs = ({ detection, text }: (typeof late)[0]) =>
    detection.atS * 1000 - Date.parse(JSON.parse(text).eot);
  t.ok(wrong.length > 5 && wrong.every((one) => Math.abs(behindMs(one) - 252_000) <= 1));
  t.strictSame([of('falls silent', early).length > 0, of('falls silent', late)], [true, []]);
  t.end();
});

t.test('what the cameras of a match send is valid, of every type, and the same each time', (t) => {
  const text = matchLines(100, 3);
  t.equal(matchLines(100, 3), text);
  t.not(matchLines(100, 4), text);
  const events = text
    .trimEnd()
    .split('\n')
    .flatMap((line) => decodeBatch(Buffer.from(line)));
  t.equal(events.length, 100);
  t.strictSame(new Set(events.map(({ type }) => type)), new Set(EVENT_TYPES));
  t.ok(events.some(({ revision }) => revision === 1));
  t.end();
});

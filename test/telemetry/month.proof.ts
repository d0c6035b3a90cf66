import t from 'tap';
import { sourceProblems } from '../../src/health/sourceProblems.ts';
import type { CourtEvent } from '../../src/protocol/courtEvent.ts';
import type { StoredSources } from '../../src/store/storedSources.ts';
import { Telemetry } from '../../src/telemetry/telemetry.ts';
import { event } from '../harness/events.ts';
import { court } from '../harness/scratchStore.ts';

/**
 * A month of a venue in a few seconds: eight courts with one camera each, which send an empty array a minute while nobody plays.
 * Telemetry takes its clocks from here.
 */

const S = 1_000;
const MIN = 60 * S;
const H = 60 * MIN;
const DAY = 24 * H;
const BEGIN = Date.UTC(2026, 2, 2);
const COURTS = [1, 2, 3, 4, 5, 6, 7, 8];
const STEP = 10 * S;
const FOUND_WITHIN = 3.5 * MIN;

class Venue {
  /** Milliseconds since the month began. */
  now = 0;
  /** What the box's clock is off by; the cameras have their time from the box. */
  offMs = 0;
  #bootedAt = 0;
  /** What the daemons of the month have written to the database. */
  #stored: StoredSources = { days: 0, sources: [] };
  telemetry = this.#boot();

  #boot(): Telemetry {
    const clock = () => ({ monotonic: this.now - this.#bootedAt, wall: BEGIN + this.now + this.offMs });
    return new Telemetry([], this.#stored, clock);
  }

  keepSources(): void {
    this.telemetry.keepSources((sources) => {
      this.#stored = structuredClone(sources);
      return true;
    });
  }

  /** As after a power cut: what was written last is all there is. */
  restart(): void {
    this.#bootedAt = this.now;
    this.telemetry = this.#boot();
  }

  send(court: number, isPlaying: boolean): void {
    const wall = BEGIN + this.now + this.offMs;
    const events = isPlaying ? [eventOf(court, wall - 300)] : [];
    const counts = { accepted: events.length, duplicates: 0, conflicts: 0 };
    this.telemetry.stored(`10.0.7.${court}`, events, counts, {
      monotonic: this.now - this.#bootedAt,
      wall,
    });
  }

  /** By court. */
  get silent(): number[] {
    const silent = this.telemetry.report().sources.filter(({ state }) => state === 'silent');
    return silent.map(({ court_id }) => Number(court_id.slice('court-'.length)));
  }

  get problems(): string[] {
    const facts = { ...this.telemetry.report(), waiting: [], old_tokens: [], is_quiet_hours: false };
    return sourceProblems(facts).map(({ code, message }) => `${code}: ${message}`);
  }
}

const [SAMPLE] = court(event({ source: 'box' }));
const eventOf = (court: number, eotMs: number): CourtEvent => ({
  ...SAMPLE!,
  courtId: `court-${court}`,
  eotNs: BigInt(eotMs) * 1_000_000n,
});

/** Three times a day, but on rest days; courts begin and end one after the other. */
function isPlayed(court: number, now: number): boolean {
  const [day, time] = [Math.floor(now / DAY), (now % DAY) - court * 4 * MIN];
  const isRestDay = day % 7 === 6 || day % 7 === court % 7;
  return !isRestDay && [10, 14, 18].some((hour) => time >= hour * H && time < (hour + 2) * H);
}

/** One camera a night is without power; the last one stays so. */
function unpluggedAt(now: number): number | undefined {
  const [night, time] = [Math.floor((now - 12 * H) / DAY), (now - 12 * H + DAY) % DAY];
  return night >= 0 && time >= 11 * H && time < 20 * H ? (night % COURTS.length) + 1 : undefined;
}

t.test('in a month of eight courts with one camera each, every dead camera is found and no other', (t) => {
  const venue = new Venue();
  /** When the power of each dead camera went. */
  const dead = new Map<number, number>();
  const falseAlarms: string[] = [];
  const late: string[] = [];
  let found = 0;
  for (; venue.now < 30 * DAY; venue.now += STEP) {
    const { now } = venue;
    const unplugged = unpluggedAt(now);
    for (const court of dead.keys()) {
      if (court === unplugged) continue;
      dead.delete(court);
      // As soon as it has booted.
      venue.send(court, false);
    }
    if (unplugged !== undefined && !dead.has(unplugged)) dead.set(unplugged, now);
    // The box reboots at noon of the 10th, while two hours of play are on, and in the night of the 20th.
    const isDown = [9 * DAY + 11 * H, 19 * DAY + 2 * H].some((at) => now >= at && now < at + 90 * S);
    // The clock jumps: to and fro, and for good.
    if (now === 5 * DAY) venue.offMs = 3 * H;
    if (now === 6 * DAY) venue.offMs = -400 * DAY;
    if (now === 7 * DAY) venue.offMs = 0;
    if (isDown) {
      venue.restart();
      continue;
    }
    for (const court of COURTS) {
      const isPlaying = isPlayed(court, now);
      const isItsTurn = isPlaying || (now + court * STEP) % MIN === 0;
      if (court !== unplugged && isItsTurn) venue.send(court, isPlaying);
    }
    if (now % MIN === 0) venue.keepSources();
    const isFresh = [...dead.values()].some((at) => now - at < 5 * MIN);
    if (now % (isFresh ? 30 * S : MIN) !== 0) continue;
    const { silent } = venue;
    for (const court of silent) if (!dead.has(court)) falseAlarms.push(`court ${court} at ${now / H} h`);
    // After a restart the time is counted again: requests to a stopped daemon are not known.
    for (const [court, at] of dead) {
      const isFound = silent.includes(court);
      const since = isRestarted(now) ? 0 : now - at;
      if (!isFound && since > FOUND_WITHIN) late.push(`court ${court} at ${now / H} h`);
      if (isFound && since === FOUND_WITHIN) found++;
    }
    if (now % (10 * MIN) === 0) {
      const wrong = venue.problems.filter((problem) => !/^source_silent: /.test(problem));
      falseAlarms.push(...wrong.map((problem) => `${problem} at ${now / H} h`));
    }
  }
  t.strictSame(falseAlarms, []);
  t.strictSame(late, []);
  t.equal(found, 30, 'one a night');
  t.end();
});

t.test(
  'when the clock of the box is set, what was known of the clocks of others is not known any more',
  (t) => {
    const venue = new Venue();
    const offset = () => venue.telemetry.report().sources[0]?.clock_offset_s;
    for (; venue.now <= 3 * MIN; venue.now += STEP / 2) venue.send(1, true);
    t.equal(offset(), -0.3);
    venue.offMs = 3 * S;
    t.equal(offset(), null);
    t.end();
  },
);

function isRestarted(now: number): boolean {
  return [9 * DAY + 11 * H, 19 * DAY + 2 * H].some((at) => now >= at && now < at + 90 * S + FOUND_WITHIN);
}

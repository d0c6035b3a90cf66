import { Bins, linear } from '../../base/bins.ts';
import type { CourtName } from '../../protocol/courtLines.ts';
import type { EventType } from '../../protocol/eventTypes.ts';
import type { ReadEvent } from '../../store/read/sessionReader.ts';
import { FrameFinder } from './frameFinder.ts';
import { GRID_FT } from './grid.ts';
import { LandingList } from './landings.ts';
import type { YFrom } from './mapFrame.ts';
import { NamedTallies } from './namedTallies.ts';
import { type Payload, payloadOf } from './payload.ts';
import { NO_PLAYER, OTHER_PLAYERS, PLAYERS_MAX, PlayerTally } from './players.ts';
import { type BallEvent, Rallies, type Rally, type Striker, verdictOf } from './rallies.ts';
import { OTHER_SOURCES, SOURCES_MAX, SourceTally } from './sources.ts';
import { SessionPauses, Timeline } from './timeline.ts';

/** No ball is faster (the record smash is 565 km/h): a speed above it or below 0 is a fault of the camera. */
export const SPEED_MAX_KMH = 1_000;

/** A session has a few courts: of more names than this only the first are kept, since a camera may send any text. */
const NAMES_KEPT = 16;

export interface TallyOptions {
  readonly lines: CourtName;
  /** Where y begins; undefined where the positions are to tell. */
  readonly yFrom?: YFrom | undefined;
  /** By source, its clock minus the right one in milliseconds: its times are corrected. */
  readonly clockOffsets?: ReadonlyMap<string, number>;
}

/** Confidence of events that were revised. */
export interface Revised {
  readonly before: Bins;
  readonly after: Bins;
}

/** Everything that the report says about a session, from one pass over its events in order of time, in bounded memory. */
export class SessionTally {
  events = 0;
  /** Distinct events, at their highest revision: every section but the technician's counts these. */
  current = 0;
  damaged = 0;
  readonly byType = new Map<EventType, number>();
  readonly courts = new NamedTallies(NAMES_KEPT, { others: 'others' }, () => null);
  readonly venues = new NamedTallies(NAMES_KEPT, { others: 'others' }, () => null);
  /** Whoever a hit, a position or an identity names, and what has no name. */
  readonly players = new NamedTallies(
    PLAYERS_MAX,
    { others: OTHER_PLAYERS, unnamed: NO_PLAYER },
    () => new PlayerTally(),
  );
  firstMs: number | undefined;
  lastMs: number | undefined;
  readonly frames: FrameFinder;
  bouncesWithoutPlace = 0;
  /** Those of a ball that had landed: of no player, in no share and on no map. */
  secondBounces = 0;
  /** Those at revision 0, which nothing has confirmed or corrected: spec 3 knows no other mark, whatever else the source sends. */
  readonly preliminary = new LandingList();
  speedsLeftOut = 0;
  positionsLeftOut = 0;
  /** Events from which a player was erased, and positions that say nothing since. */
  erased = 0;
  positionsErased = 0;
  /** How many hits the rallies had, and the longest, the first of them where several are. */
  readonly rallyLengths = new Bins(linear(1));
  longestRally: Rally | undefined;
  readonly timeline = new Timeline();
  readonly revised = new Map<EventType, Revised>();
  readonly pauses = new SessionPauses();
  readonly sources = new NamedTallies(SOURCES_MAX, { others: OTHER_SOURCES }, () => new SourceTally());
  readonly rallies: Rallies;

  readonly clockOffsets: ReadonlyMap<string, number>;

  constructor({ lines, yFrom, clockOffsets = new Map() }: TallyOptions) {
    this.frames = new FrameFinder(lines, yFrom);
    this.clockOffsets = clockOffsets;
    this.rallies = new Rallies(
      {
        bounce: (event, by) => this.#addLanding(event, by),
        secondBounce: () => this.secondBounces++,
        speed: (event, by, at) => this.#addSpeed(event, by, at),
        rally: (rally) => this.#addRally(rally),
      },
      isRallyOverAtLanding(lines),
    );
  }

  /** @param event not earlier than the one before, by clocks that are right. */
  add(event: ReadEvent): void {
    const { type, courtId, venueId, source, eventId, revision } = event;
    const offsetMs = this.clockOffsets.get(source) ?? 0;
    const eotMs = event.eotMs - offsetMs;
    this.events++;
    this.firstMs ??= eotMs;
    this.lastMs = eotMs;
    this.pauses.add(eotMs);
    this.sources.of(source).add(event, offsetMs);
    this.#addConfidence(event);
    this.courts.of(courtId);
    this.venues.of(venueId);
    if (!event.current) return;
    this.current++;
    if (event.erased) this.erased++;
    this.byType.set(type, (this.byType.get(type) ?? 0) + 1);
    this.timeline.add(type, eotMs);
    const payload = payloadOf(event.payload);
    if (payload === undefined) {
      this.damaged++;
      return;
    }
    switch (event.type) {
      case 'BALL_HIT':
        this.players.of(payload.playerId).strokes.of(payload.shotType).hits++;
        return this.rallies.add({ type: event.type, courtId, eventId, revision, eotMs, payload });
      case 'BALL_BOUNCE':
      case 'BALL_SPEED':
        return this.rallies.add({ type: event.type, courtId, eventId, revision, eotMs, payload });
      case 'PLAYER_POSITION':
        if (event.erased && payload.playerId === undefined && payload.x === undefined) {
          this.positionsErased++;
          return;
        }
        return this.#addPosition(payload, eotMs);
      case 'PLAYER_IDENTITY':
        if (payload.playerId !== undefined) this.players.of(payload.playerId);
        return;
      default: {
        // A later version of courtd may have stored other types: they are counted, and drawn as nothing else.
        event.type satisfies never;
      }
    }
  }

  /** After the last event. */
  end(): void {
    this.rallies.end();
  }

  /** A preliminary event counts only where a later revision is stored: else there is nothing to compare it with. */
  #addConfidence({ type, revision, current, confidence }: ReadEvent): void {
    const isBefore = revision === 0 && !current;
    if (!isBefore && !(revision > 0 && current)) return;
    let revised = this.revised.get(type);
    if (revised === undefined) {
      revised = { before: new Bins(linear(0.001)), after: new Bins(linear(0.001)) };
      this.revised.set(type, revised);
    }
    revised[isBefore ? 'before' : 'after'].add(confidence);
  }

  #addLanding({ eventId, eotMs, revision, payload }: BallEvent, by: Striker): void {
    const { x, y } = payload;
    const { playerId, shotType } = strikerOf(payload, by);
    const verdict = verdictOf(payload);
    const landing = { verdict, playerId, shotType, eventId, eotMs };
    if (revision === 0) this.preliminary.add({ ...landing, x, y });
    const player = this.players.of(playerId);
    const maps = [player.landings, player.strokes.of(shotType).landings];
    for (const { counts } of maps) counts[verdict]++;
    if (x === undefined || y === undefined) {
      this.bouncesWithoutPlace++;
      return;
    }
    for (const map of maps) map.place({ x, y, verdict, shotType });
    this.frames.addLanding({ ...landing, x, y });
    if (y >= GRID_FT.least && y <= GRID_FT.most) player.depths[verdict].add(y);
  }

  #addSpeed({ payload }: BallEvent, by: Striker, at?: Striker): void {
    const { kmh } = payload;
    if (kmh === undefined || kmh < 0 || kmh > SPEED_MAX_KMH) {
      this.speedsLeftOut++;
      return;
    }
    const strokeOf = (striker: Striker) => {
      const { playerId, shotType } = strikerOf(payload, striker);
      return this.players.of(playerId).strokes.of(shotType);
    };
    if (at === undefined) return strokeOf(by).addSpeed(kmh);
    strokeOf(at).addSpeed(kmh, 'at');
    strokeOf(by).addSpeed(kmh, 'before');
  }

  #addRally(rally: Rally): void {
    this.players.of(rally.last.playerId).ended[rally.end ?? 'not seen']++;
    this.rallyLengths.add(rally.hits);
    if (rally.hits > (this.longestRally?.hits ?? 0)) this.longestRally = rally;
  }

  #addPosition({ x, y, playerId }: Payload, eotMs: number): void {
    if (x === undefined || y === undefined) {
      this.positionsLeftOut++;
      if (playerId !== undefined) this.players.of(playerId);
      return;
    }
    const player = this.players.of(playerId);
    player.positions.add(x, y);
    player.run.add(x, y, eotMs);
    this.frames.addPosition(x, y);
  }
}

/** In badminton no ball is played that has landed. */
export function isRallyOverAtLanding(lines: CourtName): boolean {
  return lines === 'badminton';
}

/** @returns who hit the ball: whom the event names, or else whose hit it follows. A shot is its player's alone. */
function strikerOf({ playerId, shotType }: Payload, by: Striker): Striker {
  const isHis = playerId === undefined || playerId === by.playerId;
  return { playerId: playerId ?? by.playerId, shotType: shotType ?? (isHis ? by.shotType : undefined) };
}

import type { CourtName } from '../../protocol/courtLines.ts';
import { type EventType, PLAYER_TYPES } from '../../protocol/eventTypes.ts';
import type { ReadEvent } from '../../store/read/sessionReader.ts';
import { Bins, linear } from './bins.ts';
import type { YFrom } from './court.ts';
import { FirstNames } from './firstNames.ts';
import { FrameFinder } from './frames.ts';
import { GRID_FT, Grid } from './grid.ts';
import {
  byVerdict,
  LandingList,
  LandingMap,
  NO_SHOT_TYPE,
  OTHER_SHOT_TYPES,
  SHOT_TYPES_MAX,
} from './landings.ts';
import { NamedTallies } from './namedTallies.ts';
import { type Payload, payloadOf } from './payload.ts';
import { type BallEvent, Rallies } from './rallies.ts';
import { OTHER_SOURCES, SOURCES_MAX, SourceTally } from './sources.ts';
import { SessionPauses, Timeline } from './timeline.ts';

/** At most this many players get a map; the positions of the rest are only counted. */
const PLAYERS_MAX = 16;
/** No ball is faster (the record smash is 565 km/h): a speed above it or below 0 is a fault of the camera. */
export const SPEED_MAX_KMH = 1_000;

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
  readonly courts = new FirstNames();
  readonly venues = new FirstNames();
  /** Whoever a hit, a position or an identity names. */
  readonly players = new FirstNames();
  firstMs: number | undefined;
  lastMs: number | undefined;
  readonly frames: FrameFinder;
  readonly #landings = new NamedTallies(SHOT_TYPES_MAX, OTHER_SHOT_TYPES, () => new LandingMap());
  /** Where along the court the landings were: y in feet, to a tenth. */
  readonly depths = byVerdict(() => new Bins(linear(0.1)));
  bouncesWithoutPlace = 0;
  /** Those at revision 0, which nothing has confirmed or corrected: spec 3 knows no other mark, whatever else the source sends. */
  readonly preliminary = new LandingList();
  readonly speeds = new Bins(linear(0.1));
  speedsLeftOut = 0;
  readonly positions = new Map<string, Grid>();
  positionsLeftOut = 0;
  readonly timeline = new Timeline();
  readonly revised = new Map<EventType, Revised>();
  readonly pauses = new SessionPauses();
  readonly sources = new NamedTallies(SOURCES_MAX, OTHER_SOURCES, () => new SourceTally());
  readonly #rallies = new Rallies((bounce, shotType) => this.#addLanding(bounce, shotType));

  readonly clockOffsets: ReadonlyMap<string, number>;

  constructor({ lines, yFrom, clockOffsets = new Map() }: TallyOptions) {
    this.frames = new FrameFinder(lines, yFrom);
    this.clockOffsets = clockOffsets;
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
    this.courts.add(courtId);
    this.venues.add(venueId);
    if (!event.current) return;
    this.current++;
    this.byType.set(type, (this.byType.get(type) ?? 0) + 1);
    this.timeline.add(type, eotMs);
    const payload = payloadOf(event.payload);
    if (payload === undefined) {
      this.damaged++;
      return;
    }
    if (payload.playerId !== undefined && PLAYER_TYPES.includes(type)) this.players.add(payload.playerId);
    switch (event.type) {
      case 'BALL_BOUNCE':
      case 'BALL_HIT':
        return this.#rallies.add({ type: event.type, courtId, eventId, revision, eotMs, payload });
      case 'BALL_SPEED':
        return this.#addSpeed(payload);
      case 'PLAYER_POSITION':
        return this.#addPosition(payload);
      case 'PLAYER_IDENTITY':
        return;
      default: {
        // A later version of courtd may have stored other types: they are counted, and drawn as nothing else.
        event.type satisfies never;
      }
    }
  }

  /** After the last event. */
  end(): void {
    this.#rallies.flush();
  }

  /** @returns the landings by shot type; what has no name of its own stands last. */
  landings(): [shotType: string, landings: LandingMap][] {
    return this.#landings.entries([NO_SHOT_TYPE, OTHER_SHOT_TYPES]);
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

  #addLanding({ eventId, eotMs, revision, payload }: BallEvent, shotType: string | undefined): void {
    const { x, y, isIn } = payload;
    const verdict = isIn === undefined ? 'not judged' : isIn ? 'in' : 'out';
    if (revision === 0) this.preliminary.add({ x, y, verdict, shotType, eventId, eotMs });
    const map = this.#landings.of(shotType ?? NO_SHOT_TYPE);
    map.counts[verdict]++;
    if (x === undefined || y === undefined) {
      this.bouncesWithoutPlace++;
      return;
    }
    map.place({ x, y, verdict });
    this.frames.addLanding({ x, y, verdict, shotType, eventId, eotMs });
    if (y >= GRID_FT.least && y <= GRID_FT.most) this.depths[verdict].add(y);
  }

  #addSpeed({ kmh }: Payload): void {
    if (kmh === undefined || kmh < 0 || kmh > SPEED_MAX_KMH) this.speedsLeftOut++;
    else this.speeds.add(kmh);
  }

  #addPosition({ x, y, playerId = 'no player_id' }: Payload): void {
    const isLeftOut = !this.positions.has(playerId) && this.positions.size >= PLAYERS_MAX;
    if (x === undefined || y === undefined || isLeftOut) {
      this.positionsLeftOut++;
      return;
    }
    const grid = this.positions.get(playerId) ?? new Grid();
    this.positions.set(playerId, grid);
    grid.add(x, y);
    this.frames.addPosition(x, y);
  }
}

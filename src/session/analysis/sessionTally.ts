import { Bins } from '../../base/bins.ts';
import type { CourtName } from '../../protocol/courtLines.ts';
import type { ReadEvent } from '../../store/read/sessionReader.ts';
import { NamedTallies } from './namedTallies.ts';
import { type CourtFrame, frameOf, GRID_FT, isInside, verdictOf } from './places.ts';
import { NO_PLAYER, OTHER_PLAYERS, PLAYERS_MAX, PlayerTally } from './playerTally.ts';
import { Rallies, type Rally, type RallyListener, type Striker } from './rallies.ts';
import { type Payload, payloadOf } from './shotPayload.ts';

/** No ball is faster (the record smash is 565 km/h): a speed above it or below 0 is a fault of the camera. */
export const SPEED_MAX_KMH = 1_000;
/** A session has a few courts: of more names than this only the first are kept, since a camera may send any text. */
const NAMES_KEPT = 16;
const DRAWABLE = { x1: GRID_FT.least, y1: GRID_FT.least, x2: GRID_FT.most, y2: GRID_FT.most };

/** Everything that the report says about a session, from one pass over its events in order of time, in bounded memory. */
export class SessionTally implements RallyListener {
  readonly lines: CourtName;
  /** In badminton no ball is played that has landed. */
  readonly endsAtLanding: boolean;
  events = 0;
  /** Distinct events, at their highest revision: everything below counts these. */
  current = 0;
  readonly courts = new NamedTallies(NAMES_KEPT, () => null, 'others');
  readonly venues = new NamedTallies(NAMES_KEPT, () => null, 'others');
  /** Everybody whom a hit, a position or an identity names, and what names nobody. */
  readonly players = new NamedTallies(PLAYERS_MAX, () => new PlayerTally(), OTHER_PLAYERS, NO_PLAYER);
  firstMs = 0;
  lastMs = 0;
  /** A further bounce is one of a ball that had landed: of no player, in no share and on no map. */
  readonly leftOut = { speed: 0, position: 0, bounce: 0, 'further bounce': 0 };
  /** The hits per rally, and the longest rally, the first one if several are equal. */
  readonly rallyLengths = new Bins(1);
  longestRally: Rally | undefined;
  /** Shots by the minute since 1970. */
  readonly shotMinutes = new Bins(1);
  readonly #rallies: Rallies;
  #seen = { x1: Infinity, y1: Infinity, x2: -Infinity, y2: -Infinity };

  constructor(lines: CourtName) {
    this.lines = lines;
    this.endsAtLanding = lines === 'badminton';
    this.#rallies = new Rallies(this, this.endsAtLanding);
  }

  /** The content of the maps. */
  get frame(): CourtFrame {
    return frameOf(this.lines, this.#seen);
  }

  /** Players with a name of their own. */
  get named(): string[] {
    const names = this.players.entries().map(([id]) => id);
    return names.filter((id) => id !== NO_PLAYER && id !== OTHER_PLAYERS);
  }

  /** @param event not earlier than the one before. */
  add(event: ReadEvent): void {
    const { type, courtId, eotMs } = event;
    if (this.events++ === 0) this.firstMs = eotMs;
    this.lastMs = eotMs;
    this.courts.of(courtId);
    this.venues.of(event.venueId);
    if (!event.current) return;
    this.current++;
    const payload = payloadOf(event.payload);
    if (type === 'BALL_HIT') {
      this.players.of(payload.playerId).strokes.of(payload.shotType).hits++;
      this.shotMinutes.add(Math.floor(eotMs / 60_000));
    }
    if (type === 'BALL_HIT' || type === 'BALL_BOUNCE' || type === 'BALL_SPEED')
      this.#rallies.add({ type, courtId, eotMs, payload });
    else if (type === 'PLAYER_POSITION') this.#addPosition(payload);
    else if (payload.playerId !== undefined) this.players.of(payload.playerId);
  }

  /** After the last event. */
  end(): void {
    this.#rallies.end();
  }

  bounce(payload: Payload, by: Striker | undefined): void {
    if (by === undefined) {
      this.leftOut['further bounce']++;
      return;
    }
    const { x, y } = payload;
    const { playerId, shotType } = strikerOf(payload, by);
    const verdict = verdictOf(payload);
    const player = this.players.of(playerId);
    const maps = [player.landings, player.strokes.of(shotType).landings];
    for (const { counts } of maps) counts[verdict]++;
    if (x === undefined || y === undefined) {
      this.leftOut.bounce++;
      return;
    }
    for (const map of maps) map.place({ x, y, verdict });
    this.#see(x, y);
  }

  speed(payload: Payload, by: Striker): void {
    const { kmh } = payload;
    if (kmh === undefined || kmh < 0 || kmh > SPEED_MAX_KMH) {
      this.leftOut.speed++;
      return;
    }
    const { playerId, shotType } = strikerOf(payload, by);
    this.players.of(playerId).strokes.of(shotType).speeds.add(kmh);
  }

  /** A last shot that was in won the rally. One that was out lost it to the player who hit before, or to the only other one. */
  rally(rally: Rally): void {
    const { last, before } = rally;
    const end = last.landed ?? 'not seen';
    this.players.of(last.playerId).ended[end]++;
    const others = this.named.filter((id) => id !== last.playerId);
    const opponent = others.length === 1 ? others[0] : before?.playerId;
    const winner = end === 'in' ? last.playerId : end === 'out' ? opponent : undefined;
    if (winner !== undefined && (end === 'in' || winner !== last.playerId)) this.players.of(winner).won++;
    this.rallyLengths.add(rally.hits);
    if (rally.hits > (this.longestRally?.hits ?? 0)) this.longestRally = rally;
  }

  #addPosition({ x, y, playerId }: Payload): void {
    if (x === undefined || y === undefined) {
      this.leftOut.position++;
      if (playerId !== undefined) this.players.of(playerId);
      return;
    }
    this.players.of(playerId).positions.add(x, y);
    this.#see(x, y);
  }

  #see(x: number, y: number): void {
    if (!isInside(DRAWABLE, x, y)) return;
    const { x1, y1, x2, y2 } = this.#seen;
    this.#seen = { x1: Math.min(x1, x), y1: Math.min(y1, y), x2: Math.max(x2, x), y2: Math.max(y2, y) };
  }
}

/** @returns who hit the ball: the player whom the event names, or else the one whose hit it follows. A shot is of its player alone. */
function strikerOf({ playerId, shotType }: Payload, by: Striker): Striker {
  const isSame = playerId === undefined || playerId === by.playerId;
  return { playerId: playerId ?? by.playerId, shotType: shotType ?? (isSame ? by.shotType : undefined) };
}

import { EVENT_TYPES, PLAYER_TYPES } from '../../protocol/eventTypes.ts';
import type { PayloadColumns } from '../../protocol/payload.ts';
import type { ReadEvent } from '../../store/read/sessionReader.ts';
import { NamedTallies } from '../analysis/namedTallies.ts';
import { NAME_CHARS } from '../analysis/shotPayload.ts';
import type { CellValue, Time } from './sheet.ts';

/** A session has a few players and courts: events of further names are counted together. */
const NAMES_COUNTED = 10_000;
const OTHERS = '(others)';
const NONE = PLAYER_TYPES.map(() => 0);

interface Player {
  /** How many events name the player, in the order of PLAYER_TYPES. */
  readonly named: number[];
  first?: Time;
  last?: Time;
}

/** What the sheets Summary and Players say of a session, counted as its events pass, in order of eot. */
export class SessionTotals {
  readonly #types = new Map<string, number>(EVENT_TYPES.map((type) => [type, 0]));
  readonly #courts = new NamedTallies(NAMES_COUNTED, () => ({ events: 0 }), OTHERS);
  readonly #players = new NamedTallies(NAMES_COUNTED, (): Player => ({ named: NONE.slice() }), OTHERS);
  #events = 0;
  #first: Time | undefined;
  #last: Time | undefined;
  readonly #bounces = { in: 0, out: 0, preliminary: 0 };
  #fastest: number | undefined;

  add(event: ReadEvent, payload: PayloadColumns): void {
    const time = { ms: event.eotMs, text: event.eot };
    this.#events++;
    this.#first ??= time;
    this.#last = time;
    this.#types.set(event.type, (this.#types.get(event.type) ?? 0) + 1);
    this.#courts.of(event.courtId).events++;
    if (event.type === 'BALL_BOUNCE' && payload.is_in !== undefined) {
      this.#bounces[payload.is_in ? 'in' : 'out']++;
    }
    if (event.type === 'BALL_BOUNCE' && event.revision === 0) this.#bounces.preliminary++;
    if (event.type === 'BALL_SPEED' && payload.kmh !== undefined) {
      this.#fastest = Math.max(this.#fastest ?? payload.kmh, payload.kmh);
    }
    const { player_id } = payload;
    const type = PLAYER_TYPES.indexOf(event.type);
    if (player_id === undefined || type < 0) return;
    const player = this.#players.of(player_id.length > NAME_CHARS ? OTHERS : player_id);
    player.named[type]!++;
    player.first ??= time;
    player.last = time;
  }

  /** @returns the rows of the sheet Summary. */
  rows(): CellValue[][] {
    return [
      ['Events', this.#events],
      ['First eot', this.#first],
      ['Last eot', this.#last],
      [],
      ...this.#types,
      [],
      ['Bounces in', this.#bounces.in],
      ['Bounces out', this.#bounces.out],
      ['Bounces preliminary', this.#bounces.preliminary, 'those whose revision is 0'],
      ['Highest speed, km/h', this.#fastest],
      [],
      ...this.#courts.entries().map(([name, { events }]) => ['Events of court', events, name]),
    ];
  }

  /** @returns the rows of the sheet Players, in the order of the names, `(others)` last. */
  players(): CellValue[][] {
    return this.#players.entries().map(([name, { named, first, last }]) => [name, ...named, first, last]);
  }
}

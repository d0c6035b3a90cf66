import { EVENT_TYPES } from '../../protocol/event.ts';
import type { readPayload } from '../../protocol/sentEvent.ts';
import type { ReadEvent } from '../../store/read/sessionReader.ts';
import type { CellValue, Time } from './xlsxSheet.ts';

/** Names that are counted each for itself, and their length: a session has a few players and courts. The rest is counted together. */
const NAMES_COUNTED = 10_000;
const NAME_CHARS = 256;
const OTHERS = '(others)';

interface Player {
  hits: number;
  positions: number;
  identities: number;
  readonly first: Time;
  last: Time;
}

const COUNTED_AS: Readonly<Record<string, 'hits' | 'positions' | 'identities'>> = {
  BALL_HIT: 'hits',
  PLAYER_POSITION: 'positions',
  PLAYER_IDENTITY: 'identities',
};

/** What the sheets Summary and Players say of a session, counted as its events pass, in order of eot. */
export class SessionTotals {
  readonly #types = new Map<string, number>(EVENT_TYPES.map((type) => [type, 0]));
  readonly #courts = new Map<string, { events: number }>();
  readonly #players = new Map<string, Player>();
  #events = 0;
  #first: Time | undefined;
  #last: Time | undefined;
  readonly #bounces = { in: 0, out: 0 };
  #fastest: number | undefined;

  add(event: ReadEvent, payload: ReturnType<typeof readPayload>): void {
    const time = { ms: event.eotMs, text: event.eot };
    this.#events++;
    this.#first ??= time;
    this.#last = time;
    this.#types.set(event.type, (this.#types.get(event.type) ?? 0) + 1);
    entryOf(this.#courts, event.courtId, () => ({ events: 0 })).events++;
    if (event.type === 'BALL_BOUNCE' && payload.is_in !== undefined) {
      this.#bounces[payload.is_in === true ? 'in' : 'out']++;
    }
    if (event.type === 'BALL_SPEED' && typeof payload.kmh === 'number') {
      this.#fastest = Math.max(this.#fastest ?? payload.kmh, payload.kmh);
    }
    const kind = COUNTED_AS[event.type];
    if (kind === undefined || typeof payload.player_id !== 'string') return;
    const player = entryOf(this.#players, payload.player_id, () => ({
      ...{ hits: 0, positions: 0, identities: 0 },
      ...{ first: time, last: time },
    }));
    player[kind]++;
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
      ['Highest speed, km/h', this.#fastest],
      [],
      ...[...this.#courts].map(([name, { events }]) => ['Events of court', events, name]),
    ];
  }

  /** @returns the rows of the sheet Players, in the order of the names. */
  players(): CellValue[][] {
    return [...this.#players]
      .sort(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }))
      .map(([name, player]) => [
        name,
        ...[player.hits, player.positions, player.identities],
        ...[player.first, player.last],
      ]);
  }
}

function entryOf<Entry>(entries: Map<string, Entry>, name: string, make: () => Entry): Entry {
  const known = entries.get(name);
  if (known !== undefined) return known;
  const isOther = name.length > NAME_CHARS || entries.size >= NAMES_COUNTED;
  const key = isOther ? OTHERS : name;
  const entry = entries.get(key) ?? make();
  entries.set(key, entry);
  return entry;
}

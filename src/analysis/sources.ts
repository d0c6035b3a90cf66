import { byName } from '../base/visibleText.ts';
import { Bins, LOGARITHMIC } from './bins.ts';

/** At most this many sources get a line each; the rest share one. */
const SOURCES_MAX = 100;
export const OTHER_SOURCES = 'other sources';

export interface ArrivedEvent {
  readonly source: string;
  readonly revision: number;
  readonly eotMs: number;
  readonly receivedMs: number;
}

/** What a technician wants to know about one camera. */
export class SourceTally {
  events = 0;
  revisions = 0;
  firstMs = 0;
  lastMs = 0;
  longestPauseMs = 0;
  /** How long after its eot an event was received, in milliseconds. */
  readonly lateness = new Bins(LOGARITHMIC);

  add({ eotMs, receivedMs, revision }: ArrivedEvent): void {
    if (this.events++ === 0) this.firstMs = eotMs;
    else this.longestPauseMs = Math.max(this.longestPauseMs, eotMs - this.lastMs);
    if (revision > 0) this.revisions++;
    this.lastMs = eotMs;
    this.lateness.add(receivedMs - eotMs);
  }
}

/** Every stored event by its source. */
export class Sources {
  readonly #tallies = new Map<string, SourceTally>();

  /** @param event not earlier than the one before. */
  add(event: ArrivedEvent): void {
    this.#tallyOf(event.source).add(event);
  }

  #tallyOf(source: string): SourceTally {
    const own = this.#tallies.get(source);
    if (own !== undefined) return own;
    if (this.#tallies.size >= SOURCES_MAX && source !== OTHER_SOURCES) return this.#tallyOf(OTHER_SOURCES);
    const made = new SourceTally();
    this.#tallies.set(source, made);
    return made;
  }

  entries(): [source: string, tally: SourceTally][] {
    return [...this.#tallies].sort(([a], [b]) => byName(a, b));
  }
}

import { Bins, LOGARITHMIC } from './bins.ts';

/** At most this many sources get a line each; the rest share one. */
export const SOURCES_MAX = 100;
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

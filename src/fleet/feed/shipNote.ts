import { writeAtomically } from '../../base/atomicFile.ts';
import { type DataDirectory, SMALL_FILE_BYTES } from '../../base/dataDirectory.ts';
import { membersOf } from '../../base/json.ts';
import { SHIP_STATES, type ShipState } from '../../health/shipStatus.ts';
import type { Epoch } from '../../store/layout/epochs.ts';

/** How far a shipper is. */
export interface ShipReport {
  /** Its name at headquarters. */
  readonly box: string;
  /** Without anything secret. */
  readonly url: string;
  readonly epoch: string | null;
  readonly state: ShipState;
  /** Headquarters has every event up to here, except those that it refused for good; null where that is unknown. */
  readonly shipped_seq: number | null;
  /** ISO 8601; null: nothing has been acknowledged yet. */
  readonly last_ack_at: string | null;
  /** What is wrong and what to do, in a sentence or two; null: nothing. */
  readonly error: string | null;
  /** Whether that says that a copy names who was erased; absent: no. */
  readonly names_erased?: boolean;
  /** The last event of this epoch that headquarters refused for good, in a sentence. */
  readonly left_out: string | null;
  /**
   * A copy names nobody who was erased up to then, milliseconds since 1970-01-01T00:00:00Z; null: it does, or it is not known, or there
   * is no copy.
   */
  readonly erased_ms: number | null;
  /** Whether players are shipped as the cameras name them; absent: yes. */
  readonly names_players?: boolean;
  /** Where such events have been shipped to so far (`placeOf`). Of a note; whoever keeps it adds to it. */
  readonly named_to?: readonly string[];
  /** False once the shipper has ended. */
  readonly running: boolean;
}

/** Of a report as JSON, in UTF-8: what is longer could not be read back. */
export const REPORT_BYTES = SMALL_FILE_BYTES - 1;
/** Characters, each of which takes up to six bytes as JSON: together they fit. */
const MOST = { sentence: 900, url: 500, name: 100 } as const;

/** At most one small write in this time, and one when a shipper ends. */
const WRITE_MS = 60_000;
/** A shipper that has not reported for this long has ended: it reports every second. */
const SILENT_MS = 15_000;

/** @returns the latest note; undefined without one, or where it cannot be read. */
export function readNote(directory: DataDirectory): ShipReport | undefined {
  try {
    const note: unknown = membersOf(directory.read('shipNote'));
    return isReport(note) ? note : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a value that another process sent or wrote is a report. */
export function isReport(value: unknown): value is ShipReport {
  const { box, url, epoch, state, shipped_seq, last_ack_at, error, left_out, erased_ms, named_to } = (value ??
    {}) as ShipReport;
  const isText = (one: unknown) => one === null || typeof one === 'string';
  const isSeq = shipped_seq === null || (Number.isSafeInteger(shipped_seq) && shipped_seq >= 0);
  return (
    [box, url].every((one) => typeof one === 'string') &&
    SHIP_STATES.includes(state) &&
    isSeq &&
    (erased_ms == null || Number.isSafeInteger(erased_ms)) &&
    (named_to === undefined ||
      (Array.isArray(named_to) && named_to.every((one) => typeof one === 'string'))) &&
    [epoch, last_ack_at, error, left_out ?? null].every(isText)
  );
}

/**
 * @returns up to which seq headquarters has this log, as far as the box knows; undefined where it does not. A report of an older
 * epoch counts up to where that epoch ended.
 */
export function knownShipped(
  report: Pick<ShipReport, 'epoch' | 'shipped_seq'> | undefined,
  epochs: readonly Epoch[],
): number | undefined {
  const at = epochs.findIndex(({ name }) => name === report?.epoch);
  if (report?.shipped_seq == null || at < 0) return undefined;
  return Math.min(report.shipped_seq, ...epochs.slice(at + 1).map(({ fromSeq }) => fromSeq));
}

/** @returns the report, short enough to be read back: headquarters and settings may be wordy. */
export function boundedReport(report: ShipReport): ShipReport {
  const { box, url, epoch, state, shipped_seq, last_ack_at, error, left_out, erased_ms, running } = report;
  const short = <Text extends string | null>(text: Text, most: number) =>
    text && text.length > most ? (`${text.slice(0, most - 1)}…` as Text) : text;
  return {
    box: short(box, MOST.name),
    url: short(url, MOST.url),
    epoch: short(epoch, MOST.name),
    state,
    shipped_seq,
    last_ack_at: short(last_ack_at, MOST.name),
    error: short(error, MOST.sentence),
    left_out: short(left_out ?? null, MOST.sentence),
    erased_ms: erased_ms ?? null,
    ...(report.names_erased === true && { names_erased: true }),
    ...(report.names_players === false && { names_players: false }),
    running,
  };
}

/** @returns where the events of a box are shipped to, without anything secret: of a copy the folder of that box. @param url as it is shown. */
export function placeOf(url: string, box: string | undefined): string {
  return url.startsWith('file:') && box !== undefined ? `${url.replace(/\/+$/, '')}/${box}` : url;
}

/** @returns the report, with every place that has events with the names of players: the oldest of too many are left out. */
function withPlaces(report: ShipReport, before: readonly string[]): ShipReport {
  const place = placeOf(report.url, report.box);
  const isNew = report.names_players !== false && (report.shipped_seq ?? 0) > 0 && !before.includes(place);
  const named_to = isNew ? [...before, place] : [...before];
  while (Buffer.byteLength(JSON.stringify({ ...report, named_to })) > REPORT_BYTES) named_to.shift();
  return { ...report, named_to };
}

/** Keeps the latest report, and notes it in the data directory now and then. */
export class NoteKeeper {
  readonly #directory: DataDirectory;
  #latest: ShipReport | undefined;
  #reportedAt = Number.NEGATIVE_INFINITY;
  #written: string;
  #writtenAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  constructor(directory: DataDirectory) {
    this.#directory = directory;
    this.#latest = readNote(directory);
    this.#written = JSON.stringify(this.#latest ?? null);
  }

  /** The latest report: `running` is true only if the shipper has reported recently. */
  get latest(): ShipReport | undefined {
    const isHeard = performance.now() - this.#reportedAt < SILENT_MS;
    return this.#latest && { ...this.#latest, running: this.#latest.running && isHeard };
  }

  put(report: ShipReport): void {
    this.#latest = withPlaces(boundedReport(report), this.#latest?.named_to ?? []);
    this.#reportedAt = performance.now();
    const waitMs = report.running ? this.#writtenAt + WRITE_MS - performance.now() : 0;
    if (waitMs <= 0) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), waitMs).unref();
  }

  /** Writes a report that has not been written. If it cannot, such as on a full disk, the note is only older. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const file = this.#directory.file('shipNote');
    const text = JSON.stringify(this.#latest ?? null);
    if (text === this.#written || this.#latest === undefined) return;
    try {
      writeAtomically(file, `${text}\n`);
      this.#written = text;
    } catch {
      // The next report tries again.
    }
    this.#writtenAt = performance.now();
  }
}

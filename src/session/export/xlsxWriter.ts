import type { Sink } from '../../base/sink.ts';
import { counted, isoTime } from '../../base/units.ts';
import { courtdVersion } from '../../base/version.ts';
import {
  EVENT_TYPES,
  type EventType,
  PAYLOAD,
  type PayloadField,
  TYPES,
  type TypeEntry,
} from '../../protocol/eventTypes.ts';
import { type PayloadColumns, payloadColumns } from '../../protocol/payload.ts';
import type { ReadEvent } from '../../store/read/sessionReader.ts';
import { DICTIONARY, PLAYER_COLUMNS } from './columns.ts';
import type { EventWriter } from './eventWriter.ts';
import { ScratchFile } from './scratchFile.ts';
import { SessionTotals } from './sessionTotals.ts';
import { type Sheet, type SheetColumn, STYLES } from './xlsxSheet.ts';
import { Workbook } from './xlsxWorkbook.ts';

/** Widths in characters, by column; ids are often a UUID. */
const WIDTHS: Readonly<Record<string, number>> = {
  eot: 24,
  first_eot: 24,
  last_eot: 24,
  revision: 17,
  event_id: 38,
  source: 18,
};

function columns(...names: readonly string[]): SheetColumn[] {
  return names.map((name) => ({ name, width: WIDTHS[name] ?? (isText(name) ? 24 : 12) }));
}

function isText(name: string): boolean {
  return name in PAYLOAD && PAYLOAD[name as PayloadField].kind === 'string';
}

/** The types that have a row an event. */
const LISTED = EVENT_TYPES.filter((type) => TYPES[type].about === 'ball');

/** Its first row names the session. */
function summaryColumns(session: string): SheetColumn[] {
  return ['Session', session, '', ''].map((name, i) => ({ name, width: [22, 30, 28, 90][i]! }));
}

/**
 * Writes a workbook for coaches. Rows are compressed as they come, and wait in a scratch file for their place in the archive:
 * the memory that it takes does not grow with the session.
 */
export class XlsxWriter implements EventWriter {
  readonly #sink: Sink;
  readonly #scratch: ScratchFile;
  readonly #workbook: Workbook;
  readonly #totals = new SessionTotals();
  readonly #lists: ReadonlyMap<EventType, EventList>;
  readonly #session: string;

  constructor(sink: Sink, session: string) {
    this.#sink = sink;
    this.#scratch = new ScratchFile(sink.scratchFolder);
    this.#workbook = new Workbook(this.#scratch);
    this.#session = session;
    this.#lists = new Map(LISTED.map((type) => [type, new EventList(this.#workbook, TYPES[type])]));
  }

  /** @param events current revisions only. */
  async write(events: readonly ReadEvent[]): Promise<void> {
    for (const event of events) {
      const payload = payloadColumns(event.payload);
      this.#totals.add(event, payload);
      this.#lists.get(event.type)?.add(event, payload);
    }
  }

  async end(): Promise<void> {
    const lists = [...this.#lists.values()];
    for (const list of lists) list.end();
    this.#writeSummary();
    this.#writePlayers();
    await this.#workbook.writeTo(this.#sink, [
      'Summary',
      ...lists.flatMap(({ titles }) => titles),
      'Players',
    ]);
    this.#scratch.close();
  }

  wrote(events: number): string {
    const rows = [...this.#lists.values()].reduce((sum, list) => sum + list.rows, 0);
    return `${counted(events, 'event')} read; ${counted(rows, 'row')} of ${LISTED.map((type) => TYPES[type].title).join(', ')}`;
  }

  #writeSummary(): void {
    const sheet = this.#workbook.addSheet('Summary', summaryColumns(this.#session));
    for (const row of this.#totals.rows()) sheet.row(row);
    sheet.row([]);
    const now = Date.now();
    sheet.row(['Written', { ms: now, text: isoTime(now)! }, `by courtd ${courtdVersion()}`]);
    sheet.row(['Revisions', 'the current one of each event']);
    sheet.row(['Times', 'UTC']);
    sheet.row([]);
    sheet.header(['Column', 'Unit', 'From', 'Meaning']);
    for (const { name, unit, from, meaning } of [...DICTIONARY, ...PLAYER_COLUMNS]) {
      sheet.row([name, unit ?? '', from, meaning], STYLES.wrapped);
    }
    sheet.end({ canFilter: false });
  }

  #writePlayers(): void {
    const names = ['player_id', ...PLAYER_COLUMNS.map(({ name }) => name)];
    const sheet = this.#workbook.addSheet('Players', columns(...names));
    for (const row of this.#totals.players()) sheet.row(row);
    sheet.end({ canFilter: true });
  }
}

/** The events of one type: as many sheets as it takes. */
class EventList {
  readonly titles: string[] = [];
  /** Without those of names. */
  rows = 0;
  readonly #workbook: Workbook;
  readonly #fields: readonly PayloadField[];
  #sheet: Sheet;

  constructor(workbook: Workbook, { title, fields }: TypeEntry) {
    this.#workbook = workbook;
    this.#fields = fields;
    this.#sheet = this.#open(title);
  }

  add(event: ReadEvent, payload: PayloadColumns): void {
    if (this.#sheet.isFull) {
      this.end();
      this.#sheet = this.#open(`${this.titles[0]} ${this.titles.length + 1}`);
    }
    this.rows++;
    const { eotMs, eot, courtId, source, confidence, revision, eventId } = event;
    const values = this.#fields.map((field) => payload[field]);
    this.#sheet.row([{ ms: eotMs, text: eot }, courtId, source, ...values, confidence, revision, eventId]);
  }

  end(): void {
    this.#sheet.end({ canFilter: true });
  }

  #open(title: string): Sheet {
    this.titles.push(title);
    const names = ['eot', 'court_id', 'source', ...this.#fields, 'confidence', 'revision', 'event_id'];
    return this.#workbook.addSheet(title, columns(...names));
  }
}

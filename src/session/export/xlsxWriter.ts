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
import type { AsOf, ReadEvent } from '../../store/read/sessionReader.ts';
import { FLIGHT_MS } from '../analysis/rallies.ts';
import { DICTIONARY, PLAYER_COLUMNS } from './columns.ts';
import type { EventWriter } from './eventWriter.ts';
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

/** The types that have one row per event. */
const LISTED = EVENT_TYPES.filter((type) => TYPES[type].about === 'ball');

/** Its first row names the session. */
function summaryColumns(session: string): SheetColumn[] {
  return ['Session', session, '', ''].map((name, i) => ({ name, width: [22, 30, 28, 90][i]! }));
}

/** Writes a workbook for coaches. Rows are compressed as they come, and wait in memory: 25 MB for a session of a million events. */
export class XlsxWriter implements EventWriter {
  readonly #sink: Sink;
  readonly #workbook = new Workbook();
  readonly #totals = new SessionTotals();
  readonly #lists: ReadonlyMap<EventType, EventList>;
  readonly #session: string;
  /** By court: the last hit. */
  readonly #hits = new Map<string, { readonly eotMs: number; readonly player: string | undefined }>();

  constructor(sink: Sink, session: string) {
    this.#sink = sink;
    this.#session = session;
    this.#lists = new Map(LISTED.map((type) => [type, new EventList(this.#workbook, TYPES[type])]));
  }

  /** @param events current revisions only. */
  async write(events: readonly ReadEvent[]): Promise<void> {
    for (const event of events) {
      const payload = payloadColumns(event.payload);
      this.#totals.add(event, payload);
      const { type, courtId, eotMs } = event;
      if (type === 'BALL_HIT') this.#hits.set(courtId, { eotMs, player: payload.player_id });
      const hit = this.#hits.get(courtId);
      const player = hit !== undefined && eotMs - hit.eotMs <= FLIGHT_MS ? hit.player : undefined;
      this.#lists.get(type)?.add(event, { ...payload, player_id: payload.player_id ?? player });
    }
  }

  async end(asOf: AsOf): Promise<void> {
    const lists = [...this.#lists.values()];
    for (const list of lists) list.end();
    this.#writeSummary(asOf);
    this.#writePlayers();
    await this.#workbook.writeTo(this.#sink, ['Summary', ...lists.map(({ title }) => title), 'Players']);
  }

  wrote(events: number): string {
    const rows = [...this.#lists.values()].reduce((sum, list) => sum + list.rows, 0);
    return `${counted(events, 'event')} read; ${counted(rows, 'row')} of ${LISTED.map((type) => TYPES[type].title).join(', ')}`;
  }

  #writeSummary({ seq, ms }: AsOf): void {
    const sheet = this.#workbook.addSheet('Summary', summaryColumns(this.#session));
    for (const row of this.#totals.rows()) sheet.row(row);
    sheet.row([]);
    sheet.row(['as_of', { ms, text: isoTime(ms) }, 'made then', `by courtd ${courtdVersion()}`]);
    sheet.row(['as_of seq', seq, 'the last one of the box', 'What arrived later is not in this workbook.']);
    sheet.row(['Revisions', 'the current one of each event']);
    sheet.row(['Times', 'UTC']);
    sheet.row(['Bounces', `player_id as sent, or that of the last hit, up to ${FLIGHT_MS / 1_000} s before`]);
    sheet.row([]);
    sheet.header(['Column', 'Unit', 'From', 'Meaning']);
    const names = new Set([...this.#lists.values()].flatMap(({ columns }) => columns));
    for (const { name, unit, from, meaning } of [
      ...DICTIONARY.filter(({ name }) => names.has(name)),
      ...PLAYER_COLUMNS,
    ]) {
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

/** The sheet of one type. */
class EventList {
  readonly title: string;
  /** Without that of names. */
  rows = 0;
  readonly columns: readonly string[];
  readonly #fields: readonly PayloadField[];
  readonly #sheet: Sheet;

  constructor(workbook: Workbook, { title, fields }: TypeEntry) {
    this.title = title;
    this.#fields = title === TYPES.BALL_BOUNCE.title ? [...fields, 'player_id'] : fields;
    this.columns = ['eot', 'court_id', 'source', ...this.#fields, 'confidence', 'revision', 'event_id'];
    this.#sheet = workbook.addSheet(title, columns(...this.columns));
  }

  add(event: ReadEvent, payload: PayloadColumns): void {
    this.rows++;
    const { eotMs, eot, courtId, source, confidence, revision, eventId } = event;
    const values = this.#fields.map((field) => payload[field]);
    this.#sheet.row([{ ms: eotMs, text: eot }, courtId, source, ...values, confidence, revision, eventId]);
  }

  end(): void {
    this.#sheet.end({ canFilter: true });
  }
}

import { isoTime } from '../../base/units.ts';
import { courtdVersion } from '../../base/version.ts';
import { EVENT_TYPES, PAYLOAD, type PayloadField, TYPES } from '../../protocol/eventTypes.ts';
import { payloadColumns } from '../../protocol/payload.ts';
import type { AsOf, ReadEvent } from '../../store/read/sessionReader.ts';
import { FLIGHT_MS } from '../analysis/rallies.ts';
import { DICTIONARY, PLAYER_COLUMNS } from './columns.ts';
import { SessionTotals } from './sessionTotals.ts';
import { Sheet, type SheetColumn, STYLES } from './sheet.ts';
import { workbookParts } from './workbookParts.ts';
import { zipArchive } from './zipArchive.ts';

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

/** The sheets of the types that have one row per event, and their columns between an event's source and its confidence. */
const LISTS = EVENT_TYPES.filter((type) => TYPES[type].about === 'ball').map((type) => {
  const { title, fields } = TYPES[type];
  const shown: readonly PayloadField[] = type === 'BALL_BOUNCE' ? [...fields, 'player_id'] : fields;
  const names = ['eot', 'court_id', 'source', ...shown, 'confidence', 'revision', 'event_id'];
  return { type, title, shown, names };
});

/**
 * Rows are compressed as they come, and wait in memory: 25 MB for a session of a million events.
 * @param chunks current revisions only.
 * @yields a workbook for coaches.
 */
export function* toWorkbook(
  session: string,
  chunks: Iterable<readonly ReadEvent[]>,
  asOf: AsOf,
): Generator<Uint8Array> {
  const totals = new SessionTotals();
  const lists = LISTS.map(({ title, names }, i) => new Sheet(i + 1, title, columns(...names)));
  const listOf = new Map(LISTS.map(({ type, shown }, i) => [type, { sheet: lists[i]!, shown }]));
  /** By court: the last hit. */
  const hits = new Map<string, { readonly eotMs: number; readonly player: string | undefined }>();
  for (const events of chunks) {
    for (const event of events) {
      const payload = payloadColumns(event.payload);
      totals.add(event, payload);
      const { type, courtId, eotMs, eot, source, confidence, revision, eventId } = event;
      if (type === 'BALL_HIT') hits.set(courtId, { eotMs, player: payload.player_id });
      const hit = hits.get(courtId);
      const player = hit !== undefined && eotMs - hit.eotMs <= FLIGHT_MS ? hit.player : undefined;
      const list = listOf.get(type);
      const values = list?.shown.map((name) => payload[name] ?? (name === 'player_id' ? player : undefined));
      list?.sheet.row([{ ms: eotMs, text: eot }, courtId, source, ...values!, confidence, revision, eventId]);
    }
  }
  const summary = summarySheet(session, totals, asOf);
  const players = new Sheet(
    lists.length + 2,
    'Players',
    columns('player_id', ...PLAYER_COLUMNS.map(({ name }) => name)),
  );
  for (const row of totals.players()) players.row(row);
  for (const sheet of [...lists, players]) sheet.end(true);
  const sheets = [...lists, summary, players];
  const parts = workbookParts(sheets, [summary, ...lists, players]);
  yield* zipArchive([...parts, ...sheets.map(({ entry }) => entry)]);
}

/** Its first row names the session. */
function summarySheet(session: string, totals: SessionTotals, { seq, ms }: AsOf): Sheet {
  const first = ['Session', session, '', ''].map((name, i) => ({ name, width: [22, 30, 28, 90][i]! }));
  const sheet = new Sheet(LISTS.length + 1, 'Summary', first);
  for (const row of totals.rows()) sheet.row(row);
  sheet.row([]);
  sheet.row(['as_of', { ms, text: isoTime(ms) }, 'exported at this time', `by courtd ${courtdVersion()}`]);
  sheet.row(['as_of seq', seq, 'the last one of the box', 'What arrived later is not in this workbook.']);
  sheet.row(['Revisions', 'the current one of each event']);
  sheet.row(['Times', 'UTC']);
  sheet.row(['Bounces', `player_id as sent, or that of the last hit, up to ${FLIGHT_MS / 1_000} s before`]);
  sheet.row([]);
  sheet.row(['Column', 'Unit', 'From', 'Meaning'], STYLES.header);
  const names = new Set(LISTS.flatMap(({ names }) => names));
  const explained = [...DICTIONARY.filter(({ name }) => names.has(name)), ...PLAYER_COLUMNS];
  for (const { name, unit, from, meaning } of explained)
    sheet.row([name, unit ?? '', from, meaning], STYLES.wrapped);
  sheet.end(false);
  return sheet;
}

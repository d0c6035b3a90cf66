import {
  type Field,
  MEMBERS,
  PAYLOAD,
  PAYLOAD_FIELDS,
  PLAYER_TYPES,
  TYPES,
} from '../../protocol/eventTypes.ts';

/** A column of an export: an entry of the data dictionary. */
interface Column<Name extends string = ColumnName> {
  readonly name: Name;
  readonly unit: string | null;
  readonly meaning: string;
  /** The origin of its value: a field of the event, a field of its payload, or courtd itself. */
  readonly from: 'event' | 'payload' | 'courtd';
}

export type ColumnName = Field | 'current' | 'received_at' | 'extra' | 'erased' | 'eot_text';

function sent(name: Field): Column {
  const { unit = null, meaning } = MEMBERS[name];
  return { name, unit, meaning, from: name in PAYLOAD ? 'payload' : 'event' };
}

function added<Name extends string>(
  name: Name,
  meaning: string,
  from: Column['from'] = 'courtd',
): Column<Name> {
  return { name, unit: null, meaning, from };
}

/** The columns of the CSV, in order. Scripts read them by position, so none ever moves. The vendor's guide has the same table. */
export const COLUMNS: readonly Column[] = [
  sent('session_id'),
  sent('event_id'),
  sent('revision'),
  added('current', 'whether this was the highest stored revision of its event: true or false'),
  sent('eot'),
  sent('type'),
  sent('court_id'),
  sent('venue_id'),
  sent('confidence'),
  sent('source'),
  sent('schema_version'),
  added('received_at', 'when courtd received the event, by the clock of the box, in UTC'),
  ...PAYLOAD_FIELDS.map(sent),
  sent('payload'),
  added('extra', 'the fields that the protocol does not name, as a JSON object, if there are any', 'event'),
  added('erased', 'whether an erasure took a player out of the event: true or false'),
];

/** The columns of the sheet Players of a workbook, besides `player_id`. */
export const PLAYER_COLUMNS: readonly Column<string>[] = [
  ...PLAYER_TYPES.map((type) =>
    added(TYPES[type].title.toLowerCase(), `how many ${type} events name the player; in the workbook only`),
  ),
  added('first_eot', 'when the first of these events happened, in UTC; in the workbook only'),
  added('last_eot', 'when the last of these events happened, in UTC; in the workbook only'),
];

/** The columns of CSV and Parquet, which has `eot` as a time, too; those of a workbook are among them, but for `PLAYER_COLUMNS`. */
export const DICTIONARY: readonly Column[] = [
  ...COLUMNS,
  added('eot_text', 'the eot as it was sent, with its offset and all digits; in Parquet only', 'event'),
];

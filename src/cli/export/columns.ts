import { PAYLOAD_FIELDS } from '../../protocol/event.ts';
import { type Field, MEANINGS, type Meaning } from '../../protocol/meanings.ts';

/** A column of an export: an entry of the data dictionary. */
export interface Column extends Meaning {
  readonly name: string;
  /** Where its value comes from: a field of the event, a field of its payload, or courtd itself. */
  readonly from: 'event' | 'payload' | 'courtd';
}

function sent(name: Field, from: Column['from'] = 'event'): Column {
  return { name, ...MEANINGS[name], from };
}

function added(name: string, meaning: string): Column {
  return { name, meaning, from: 'courtd' };
}

/**
 * The columns of the CSV, in order, with what they mean. Scripts read them by name and by position, so their order is part of
 * the interface. The vendor's guide has the same table.
 */
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
  ...PAYLOAD_FIELDS.map((name) => sent(name, 'payload')),
  sent('payload'),
  {
    name: 'extra',
    meaning: 'the fields that the protocol does not name, as a JSON object, if there are any',
    from: 'event',
  },
];

/** Parquet has `eot` as a time in UTC, so it has one more column. */
export const EOT_TEXT: Column = {
  name: 'eot_text',
  meaning: 'the eot as it was sent, with its offset and all digits; in Parquet only',
  from: 'event',
};

/** What the sheet Players of a workbook has beside `player_id`. */
export const PLAYER_COLUMNS: readonly Column[] = [
  added('hits', 'how many BALL_HIT events name the player; in the workbook only, as the next ones'),
  added('positions', 'how many PLAYER_POSITION events name the player'),
  added('identities', 'how many PLAYER_IDENTITY events name the player'),
  added('first_eot', 'when the first of these events happened, in UTC'),
  added('last_eot', 'when the last of these events happened, in UTC'),
];

/** The columns of CSV and Parquet; those of a workbook are among them, but for `PLAYER_COLUMNS`. */
export const DICTIONARY: readonly Column[] = [...COLUMNS, EOT_TEXT];

/** The dictionary for programs: `export --describe --json`, and the metadata of a Parquet file. */
export function dictionaryEntries() {
  return DICTIONARY.map(({ name, unit, meaning, from }) => ({ name, unit: unit ?? null, meaning, from }));
}

import type { Database } from 'better-sqlite3';
import { EOT_CHARS, EOT_YEARS, NAME_CODE_POINTS, REVISION_MAX } from '../../base/limits.ts';
import { JsonError } from '../../protocol/jsonLexer.ts';
import { JsonReader } from '../../protocol/jsonReader.ts';
import { LAST_GIVEN_SEQ } from './epochs.ts';

/**
 * Values that courtd never writes, in a database whose every page is right: a disk has changed them, or somebody has. Readers rely
 * on them: a time that is no date, or a seq near 2^63, would make them fail, some of them for ever.
 */

/** A thousand events a second for a hundred thousand years; JavaScript counts exactly to twice that. */
const SEQ_MAX = 2 ** 52;
/** The end of the year 9999, in milliseconds since 1970-01-01T00:00:00Z: what ISO 8601 has four digits for. */
const TIME_MAX = Date.UTC(10_000, 0) - 1;

/** Whether courtd may have written it: milliseconds since 1970-01-01T00:00:00Z. */
export const isTime = (ms: unknown) => typeof ms === 'number' && ms >= 0 && ms <= TIME_MAX;
const HASH_BYTES = 32;

const seq = (column: string) => `${column} BETWEEN 0 AND ${SEQ_MAX}`;
const time = (column: string) => `${column} BETWEEN 0 AND ${TIME_MAX}`;
const timeOrNone = (column: string) => `(${column} IS NULL OR ${time(column)})`;
const name = (column: string) => `length(${column}) BETWEEN 1 AND ${NAME_CODE_POINTS}`;

/** Nanoseconds since 1970-01-01T00:00:00Z at which a year begins. */
const nsAt = (year: number) => BigInt(Date.UTC(year, 0)) * 1_000_000n;

/** Of a table: how many rows it has, and what each of them fulfils. */
interface Rule {
  readonly table: string;
  readonly isRight: string;
  readonly rows?: string;
}

/** What every event needs. The tables are small, and there since the first layout. */
const STATE: readonly Rule[] = [
  { table: 'sqlite_sequence', isRight: `typeof(seq) = 'integer' AND ${seq('seq')}` },
  { table: 'flushed', isRight: `${seq('up_to')} AND ${seq('counted_up_to')}`, rows: '= 1' },
  { table: 'pruned', isRight: seq('up_to_seq'), rows: '= 1' },
  { table: 'epoch', isRight: seq('from_seq'), rows: '> 0' },
  {
    table: 'token',
    isRight: `octet_length(hash) = ${HASH_BYTES} AND ${time('created_ms')} AND ${timeOrNone('expires_ms')} AND ${timeOrNone('revoked_ms')}
      AND ${timeOrNone('last_used_ms')}`,
  },
];

/** Everything else, in the present layout: each row is read once. */
const VALUES: readonly Rule[] = [
  { table: 'epoch', isRight: `shipped_seq IS NULL OR ${seq('shipped_seq')}` },
  {
    table: 'session',
    isRight: `${name('name')} AND events BETWEEN 0 AND ${LAST_GIVEN_SEQ} AND ${seq('duplicates')}`,
  },
  { table: 'origin', isRight: [name('venue'), name('court'), name('source')].join(' AND ') },
  {
    table: 'event',
    isRight: `seq BETWEEN 1 AND ${SEQ_MAX} AND session IS NOT NULL AND ${name('event_id')} AND revision BETWEEN 0 AND ${REVISION_MAX}
      AND eot_ns BETWEEN ${nsAt(EOT_YEARS.first)} AND ${nsAt(EOT_YEARS.last + 1)} AND length(eot) BETWEEN 1 AND ${EOT_CHARS} AND origin IS NOT NULL AND confidence BETWEEN 0 AND 1
      AND ${time('received_ms')} AND is_object(payload) AND (extra IS NULL OR is_object(extra))
      AND (erased IS NULL OR erased = 1)`,
  },
  { table: 'conflict', isRight: `${seq('copies')} AND ${time('last_ms')}` },
  { table: 'conflict_copy', isRight: `${seq('turn')} AND (event IS NULL OR is_object(event))` },
  {
    table: 'erasure',
    isRight: `octet_length(player) = ${HASH_BYTES} AND ${time('at_ms')} AND ${timeOrNone('finished_ms')}`,
  },
  { table: 'source', isRight: `${time('known_at')} AND ${time('heard_at')} AND json_valid(pauses)` },
  { table: 'running_time', isRight: time('ms'), rows: '= 1' },
];

/** @returns what is wrong in the tables that every event needs, as the end of a sentence; undefined where nothing is. */
export function stateFault(db: Database): string | undefined {
  const isOrdered = db.prepare<[], number>(
    `SELECT ${seq(LAST_GIVEN_SEQ)} AND ifnull((SELECT min(seq) FROM event), 1) > 0`,
  );
  return faultOf(db, STATE) ?? (isOrdered.pluck().get() === 1 ? undefined : described('event'));
}

/** Reads every row. @returns as `stateFault`, of all tables. */
export function valueFault(db: Database): string | undefined {
  db.function('is_object', { deterministic: true }, (text) => (isObject(text) ? 1 : 0));
  return stateFault(db) ?? faultOf(db, VALUES);
}

function faultOf(db: Database, rules: readonly Rule[]): string | undefined {
  const wrong = rules.find(({ table, isRight, rows = '>= 0' }) => {
    const sql = `SELECT count(*) ${rows} AND ifnull(min((${isRight}) IS TRUE), 1) FROM ${table}`;
    return db.prepare<[], number>(sql).pluck().get() !== 1;
  });
  return wrong && described(wrong.table);
}

function described(table: string): string {
  return `is damaged: its table ${table} holds what courtd never writes there`;
}

/** As strict as ingest: what is nested deeper is not read again either. */
function isObject(text: unknown): boolean {
  if (typeof text !== 'string') return false;
  const json = new JsonReader(text);
  try {
    if (!json.isAtObject) return false;
    json.skip();
    return json.isAtEnd;
  } catch (error) {
    if (error instanceof JsonError) return false;
    throw error;
  }
}

import { zstdCompressSync } from 'node:zlib';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { isoTime, NS_PER_MS } from '../../base/units.ts';
import { courtdVersion } from '../../base/version.ts';
import { eotToNs } from '../../protocol/eot.ts';
import { PAYLOAD, PAYLOAD_FIELDS, type PayloadField } from '../../protocol/eventTypes.ts';
import { type PayloadColumns, payloadColumns } from '../../protocol/payload.ts';
import type { AsOf, ReadEvent } from '../../store/read/sessionReader.ts';
import { type ColumnName, DICTIONARY } from './columns.ts';

/**
 * A row group is complete with this many events or bytes of JSON, which are in memory at once: with 50,000 events, an export
 * took 50 MB more. Each adds a few KB to the footer, which is in memory until the end.
 */
const ROW_GROUP_EVENTS = 20_000;
const ROW_GROUP_BYTES = 16 * 1024 ** 2;

type Value = string | number | bigint | boolean | null;

const TEXT = { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } } as const;
const [DOUBLE, BOOLEAN, INTEGER] = [{ type: 'DOUBLE' }, { type: 'BOOLEAN' }, { type: 'INT64' }] as const;
/** Nanoseconds since 1970-01-01T00:00:00Z. */
const TIME = {
  type: 'INT64',
  logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'NANOS' },
} as const;
const OF_KIND = { number: DOUBLE, boolean: BOOLEAN, string: TEXT };

type Type = typeof TEXT | typeof DOUBLE | typeof BOOLEAN | typeof INTEGER | typeof TIME;
/** A column without a value has null. */
type Typed = readonly [Type, (event: ReadEvent, payload: PayloadColumns) => Value, 'optional'?];

const OF_PAYLOAD = PAYLOAD_FIELDS.map((name): [PayloadField, Typed] => [
  name,
  [OF_KIND[PAYLOAD[name].kind], (_, payload) => payload[name] ?? null, 'optional'],
]);

const TYPED: Readonly<Record<ColumnName, Typed>> = {
  ...(Object.fromEntries(OF_PAYLOAD) as Record<PayloadField, Typed>),
  session_id: [TEXT, ({ sessionId }) => sessionId],
  event_id: [TEXT, ({ eventId }) => eventId],
  revision: [INTEGER, ({ revision }) => BigInt(revision)],
  current: [BOOLEAN, ({ current }) => current],
  eot: [TIME, ({ eot, eotMs }) => eotToNs(eot) ?? BigInt(eotMs) * NS_PER_MS],
  type: [TEXT, ({ type }) => type],
  court_id: [TEXT, ({ courtId }) => courtId],
  venue_id: [TEXT, ({ venueId }) => venueId],
  confidence: [DOUBLE, ({ confidence }) => confidence],
  source: [TEXT, ({ source }) => source],
  schema_version: [TEXT, ({ schemaVersion }) => schemaVersion],
  received_at: [TIME, ({ receivedMs }) => BigInt(receivedMs) * NS_PER_MS],
  payload: [TEXT, ({ payload }) => payload],
  extra: [TEXT, ({ extra }) => extra, 'optional'],
  erased: [BOOLEAN, ({ erased }) => Boolean(erased)],
  eot_text: [TEXT, ({ eot }) => eot],
};

const NAMES = DICTIONARY.map(({ name }) => name);
const VALUES_OF = NAMES.map((name) => TYPED[name][1]);

/** @yields the events as Parquet for analysts: a row an event, a row group at a time. */
export async function* toParquet(
  chunks: Iterable<readonly ReadEvent[]>,
  asOf: AsOf,
): AsyncGenerator<Uint8Array> {
  const bytes = new ByteWriter();
  // Written at the end.
  const kvMetadata = [{ key: 'courtd.columns', value: JSON.stringify(DICTIONARY) }];
  const file = new ParquetWriter({
    writer: bytes,
    schema: [{ name: 'root', num_children: NAMES.length }, ...NAMES.map(schemaOf)],
    codec: 'ZSTD',
    compressors: { ZSTD: (data) => zstdCompressSync(data) },
    kvMetadata,
    // As Parquet wants it.
    createdBy: `courtd version ${courtdVersion()}`,
  });
  function* flush() {
    yield bytes.getBytes();
    // Its buffer is used again; `offset` continues to count, since it gives the positions in the file.
    bytes.index = 0;
  }
  for (const columns of rowGroups(chunks)) {
    const columnData = NAMES.map((name, i) => ({ name, data: columns[i]!, offsetIndex: false }));
    await file.write({ columnData, rowGroupSize: ROW_GROUP_EVENTS });
    yield* flush();
  }
  kvMetadata.push({
    key: 'courtd.as_of',
    value: JSON.stringify({ seq: asOf.seq, made_at: isoTime(asOf.ms) }),
  });
  await file.finish();
  yield* flush();
}

/** @yields the values of a row group by column, in the order of NAMES. */
function* rowGroups(chunks: Iterable<readonly ReadEvent[]>): Generator<Value[][]> {
  let columns = NAMES.map((): Value[] => []);
  let jsonBytes = 0;
  for (const events of chunks)
    for (const event of events) {
      const payload = payloadColumns(event.payload);
      for (let i = 0; i < VALUES_OF.length; i++) columns[i]!.push(VALUES_OF[i]!(event, payload));
      jsonBytes += event.payload.length + (event.extra?.length ?? 0);
      if (columns[0]!.length < ROW_GROUP_EVENTS && jsonBytes < ROW_GROUP_BYTES) continue;
      yield columns;
      [columns, jsonBytes] = [NAMES.map(() => []), 0];
    }
  if (columns[0]!.length > 0) yield columns;
}

type SchemaElement = ConstructorParameters<typeof ParquetWriter>[0]['schema'][number];

function schemaOf(name: ColumnName): SchemaElement {
  const [type, , optional] = TYPED[name];
  return { name, ...type, repetition_type: optional ? 'OPTIONAL' : 'REQUIRED' };
}

import { zstdCompressSync } from 'node:zlib';
import { ByteWriter, ParquetWriter as RowGroups } from 'hyparquet-writer';
import type { Sink } from '../../base/sink.ts';
import { isoTime, NS_PER_MS } from '../../base/units.ts';
import { courtdVersion } from '../../base/version.ts';
import { eotToNs } from '../../protocol/eot.ts';
import { PAYLOAD, PAYLOAD_FIELDS, type PayloadField } from '../../protocol/eventTypes.ts';
import { type PayloadColumns, payloadColumns } from '../../protocol/payload.ts';
import type { AsOf, ReadEvent } from '../../store/read/sessionReader.ts';
import { type ColumnName, DICTIONARY } from './columns.ts';
import type { EventWriter } from './eventWriter.ts';

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
  erased: [BOOLEAN, ({ erased }) => erased === true],
  eot_text: [TEXT, ({ eot }) => eot],
};

const NAMES = DICTIONARY.map(({ name }) => name);
const VALUES_OF = NAMES.map((name) => TYPED[name][1]);

/** Writes Parquet for analysts: a row an event, a row group at a time. */
export class ParquetWriter implements EventWriter {
  readonly #sink: Sink;
  readonly #bytes = new ByteWriter();
  /** Written at the end. */
  readonly #metadata = [{ key: 'courtd.columns', value: JSON.stringify(DICTIONARY) }];
  readonly #groups: RowGroups;
  #columns: Value[][] = NAMES.map(() => []);
  #events = 0;
  #jsonBytes = 0;

  constructor(sink: Sink) {
    this.#sink = sink;
    this.#groups = new RowGroups({
      writer: this.#bytes,
      schema: [{ name: 'root', num_children: NAMES.length }, ...NAMES.map(schemaOf)],
      codec: 'ZSTD',
      compressors: { ZSTD: (data) => zstdCompressSync(data) },
      kvMetadata: this.#metadata,
      // As Parquet wants it.
      createdBy: `courtd version ${courtdVersion()}`,
    });
  }

  async write(events: readonly ReadEvent[]): Promise<void> {
    for (const event of events) {
      const payload = payloadColumns(event.payload);
      for (let i = 0; i < VALUES_OF.length; i++) this.#columns[i]!.push(VALUES_OF[i]!(event, payload));
      this.#events++;
      this.#jsonBytes += event.payload.length + (event.extra?.length ?? 0);
      if (this.#events >= ROW_GROUP_EVENTS || this.#jsonBytes >= ROW_GROUP_BYTES) await this.#endGroup();
    }
  }

  async end({ seq, ms }: AsOf): Promise<void> {
    this.#metadata.push({ key: 'courtd.as_of', value: JSON.stringify({ seq, made_at: isoTime(ms) }) });
    if (this.#events > 0) await this.#endGroup();
    await this.#groups.finish();
    await this.#flush();
  }

  async #endGroup(): Promise<void> {
    const columnData = NAMES.map((name, i) => ({ name, data: this.#columns[i]!, offsetIndex: false }));
    await this.#groups.write({ columnData, rowGroupSize: this.#events });
    this.#columns = NAMES.map(() => []);
    this.#events = 0;
    this.#jsonBytes = 0;
    await this.#flush();
  }

  async #flush(): Promise<void> {
    await this.#sink.write(this.#bytes.getBytes());
    // Its buffer is used again; `offset` continues to count, since it gives the positions in the file.
    this.#bytes.index = 0;
  }
}

type SchemaElement = ConstructorParameters<typeof RowGroups>[0]['schema'][number];

function schemaOf(name: ColumnName): SchemaElement {
  const [type, , optional] = TYPED[name];
  return { name, ...type, repetition_type: optional ? 'OPTIONAL' : 'REQUIRED' };
}

import { type TSchema, Type } from '@sinclair/typebox';
import { SHIP_STATES } from '../../src/health/shipStatus.ts';

/** The shape of `courtd status --json`, word for word: what is not known is null. */

const closed = { additionalProperties: false } as const;
const nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()]);
const number = nullable(Type.Number());
const count = nullable(Type.Integer({ minimum: 0 }));
const time = nullable(Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$' }));

const ProblemSchema = Type.Object(
  {
    code: Type.String({ pattern: '^[a-z_]+$' }),
    level: Type.Union([Type.Literal('warn'), Type.Literal('fail')]),
    message: Type.String(),
    advice: Type.String(),
  },
  closed,
);

/** `ship` of `status --json`. */
const ShipSchema = Type.Object(
  {
    box: nullable(Type.String()),
    epoch: nullable(Type.String({ pattern: '^[A-Za-z0-9]+$' })),
    url: nullable(Type.String()),
    state: Type.Union(SHIP_STATES.map((state) => Type.Literal(state))),
    shipped_seq: count,
    newest_seq: count,
    behind_events: count,
    behind_s: count,
    last_ack_at: time,
    error: nullable(Type.String()),
  },
  closed,
);

const SourceSchema = Type.Object(
  {
    source: Type.String(),
    court_id: Type.String(),
    client: nullable(Type.String()),
    state: Type.Union(
      ['sending', 'resting', 'silent', 'overdue', 'unknown'].map((state) => Type.Literal(state)),
    ),
    last_received_at: time,
    events_last_minute: count,
    events_last_day: count,
    clock_offset_s: number,
    lateness_p95_s: number,
    duplicates: count,
    conflicts: count,
    refused_last_day: count,
  },
  closed,
);

export const StatusSchema = Type.Object(
  {
    state: Type.Union(['ok', 'attention', 'failing', 'stopped'].map((state) => Type.Literal(state))),
    problems: Type.Array(ProblemSchema),
    daemon: Type.Object(
      {
        running: Type.Boolean(),
        version: nullable(Type.String()),
        started_at: time,
        listening: nullable(Type.String()),
        tls: nullable(Type.Boolean()),
      },
      closed,
    ),
    store: Type.Object(
      {
        events: count,
        sessions: count,
        bytes: count,
        wal_bytes: count,
        free_bytes: count,
        days_left: count,
        last_backup_at: time,
      },
      closed,
    ),
    copy: nullable(
      Type.Object(
        {
          place: Type.String(),
          seq: count,
          behind_events: count,
          behind_s: count,
          last_at: time,
          error: nullable(Type.String()),
        },
        closed,
      ),
    ),
    tokens: Type.Object({ active: count, retiring: count }, closed),
    rates: Type.Object(
      {
        events_last_minute: count,
        events_last_hour: count,
        events_last_day: count,
        requests_last_minute: count,
        refused_last_minute: count,
      },
      closed,
    ),
    ship: nullable(ShipSchema),
    sources: Type.Array(SourceSchema),
  },
  closed,
);

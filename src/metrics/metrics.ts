import type { Histogram } from '../base/histogram.ts';
import type { Status } from '../health/status.ts';
import { PROBLEMS, type ProblemCode } from '../protocol/errors.ts';
import { EVENT_TYPES } from '../protocol/eventTypes.ts';
import type { Store } from '../store/store.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { RESULTS } from '../telemetry/totals.ts';
import type { EventLoopDelay } from './eventLoopDelay.ts';

/**
 * The metrics of the daemon as Prometheus text, format 0.0.4 (https://prometheus.io/docs/instrumenting/exposition_formats/). No label
 * holds a session, an event id or a token: each value of a label is a time series of its own, for ever.
 */

/** Their path on control.sock; the answer is a JSON string. */
export const METRICS_PATH = '/v1/metrics';

const ACCEPTED_STATUS = 202;
/** A camera that keeps changing its name must not flood the metrics store. */
const SOURCES_MOST = 200;

export interface MetricSources {
  readonly store: Pick<Store, 'meter' | 'queued'>;
  readonly telemetry: Pick<Telemetry, 'totals' | 'refusals'>;
  readonly loopDelay: EventLoopDelay;
  /** When the TLS certificate expires, in milliseconds since 1970-01-01T00:00:00Z; undefined without TLS. */
  readonly certificateEndMs: number | undefined;
}

type Labels = Readonly<Record<string, string>>;
/** A value that is not known is null, and has no sample. */
type Sample = readonly [labels: Labels, value: number | null | undefined];

/** @param status what `status --json` prints. @returns every metric. */
export function metricsText(of: MetricSources, status: Status): string {
  return [
    ...statusFamilies(status),
    ...processFamilies(of, status),
    ...requestFamilies(of),
    ...storeFamilies(of),
    ...sourceFamilies(status),
  ].join('');
}

function statusFamilies({ problems, store, ship }: Status): string[] {
  const counts = new Map<string, { labels: Labels; count: number }>();
  for (const { code, level } of problems) {
    const entry = counts.get(`${code} ${level}`) ?? { labels: { code, level }, count: 0 };
    entry.count++;
    counts.set(`${code} ${level}`, entry);
  }
  const samples = [...counts.values()].map(({ labels, count }): Sample => [labels, count]);
  return [
    family('gauge', 'courtd_problem', 'Problems as courtd status reports them, by code and level.', samples),
    gauge(
      'courtd_collected_timestamp_seconds',
      'When these metrics were collected, by the clock of the box.',
      Date.now() / 1_000,
    ),
    gauge('courtd_stored_events', 'Events in the database.', store.events),
    gauge('courtd_stored_sessions', 'Sessions with events in the database.', store.sessions),
    gauge('courtd_database_bytes', 'Size of the database file.', store.bytes),
    gauge('courtd_wal_bytes', 'Size of the write-ahead log.', store.wal_bytes),
    gauge('courtd_disk_free_bytes', 'Free space on the disk of the database.', store.free_bytes),
    gauge(
      'courtd_last_backup_timestamp_seconds',
      'When the last backup was made.',
      seconds(store.last_backup_at),
    ),
    gauge('courtd_ship_shipped_seq', 'Headquarters has every event up to here.', ship?.shipped_seq),
    gauge('courtd_ship_behind_events', 'Events that wait to be shipped.', ship?.behind_events),
    gauge('courtd_ship_behind_seconds', 'Since the oldest event that waits was received.', ship?.behind_s),
  ];
}

function processFamilies(
  { loopDelay, certificateEndMs }: MetricSources,
  { daemon: { version } }: Status,
): string[] {
  const { user, system } = process.cpuUsage();
  const info: Sample = [{ version: version ?? '', node: process.version }, 1];
  return [
    family('gauge', 'courtd_build_info', 'Always 1: the labels have the versions.', [info]),
    gauge('courtd_start_time_seconds', 'When the daemon was started.', performance.timeOrigin / 1_000),
    family('counter', 'courtd_cpu_seconds_total', 'CPU time that the daemon has used.', [
      [{}, (user + system) / 1e6],
    ]),
    gauge('courtd_resident_memory_bytes', 'Memory that the daemon has in use.', process.memoryUsage.rss()),
    histogram(
      'courtd_event_loop_delay_seconds',
      'How late the timers of the daemon are, ten times a second.',
      loopDelay.seconds,
    ),
    gauge(
      'courtd_certificate_expiry_timestamp_seconds',
      'When the TLS certificate expires.',
      certificateEndMs === undefined ? null : certificateEndMs / 1_000,
    ),
  ];
}

function requestFamilies({ telemetry: { totals, refusals } }: MetricSources): string[] {
  const requests = Object.entries({ accepted: totals.requests, ...refusals.byCode }).map(
    ([code, count]): Sample => {
      const status = PROBLEMS[code as ProblemCode]?.status ?? ACCEPTED_STATUS;
      return [{ status: `${status}`, code }, count];
    },
  );
  const events = EVENT_TYPES.flatMap((type, i) =>
    RESULTS.map((result): Sample => [{ type, result }, totals.events[result][i]]),
  );
  return [
    family('counter', 'courtd_requests_total', 'Answered requests, by HTTP status and code.', requests),
    family('counter', 'courtd_events_total', 'Events of accepted requests, by type and result.', events),
  ];
}

function storeFamilies({ store: { meter, queued } }: MetricSources): string[] {
  return [
    histogram(
      'courtd_commit_seconds',
      'Time of a group commit, from BEGIN to the end of COMMIT.',
      meter.commitSeconds,
    ),
    histogram('courtd_sync_seconds', 'Time of COMMIT alone: writing and syncing the log.', meter.syncSeconds),
    histogram('courtd_commit_requests', 'Requests that shared a commit.', meter.requests),
    gauge('courtd_queued_requests', 'Requests that wait for a commit.', queued),
  ];
}

function sourceFamilies({ sources }: Status): string[] {
  type Value = (source: Status['sources'][number]) => number | null;
  const each = (name: string, help: string, value: Value) => {
    const samples = sources
      .slice(0, SOURCES_MOST)
      .map((one): Sample => [{ court_id: one.court_id, source: one.source }, value(one)]);
    return family('gauge', name, help, samples);
  };
  return [
    each('courtd_source_last_event_timestamp_seconds', 'When its last event was received.', (one) =>
      seconds(one.last_received_at),
    ),
    each(
      'courtd_source_clock_offset_seconds',
      'Its clock minus that of the box.',
      (one) => one.clock_offset_s,
    ),
    each(
      'courtd_source_events_last_minute',
      'Its events of the last minute.',
      (one) => one.events_last_minute,
    ),
  ];
}

/** @returns since 1970-01-01T00:00:00Z. */
function seconds(time: string | null): number | null {
  return time === null ? null : Date.parse(time) / 1_000;
}

function gauge(name: string, help: string, value: number | null | undefined): string {
  return family('gauge', name, help, [[{}, value]]);
}

function family(
  type: 'gauge' | 'counter' | 'histogram',
  name: string,
  help: string,
  samples: readonly Sample[],
): string {
  const lines = samples.map(([labels, value]) => (value == null ? '' : line(name, labels, value)));
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`;
}

/** Buckets are cumulative there. */
function histogram(name: string, help: string, { bounds, counts, sum }: Histogram): string {
  let count = 0;
  const buckets = [...bounds, '+Inf'].map((le, i) => {
    count += counts[i]!;
    return line(`${name}_bucket`, { le: `${le}` }, count);
  });
  const end = [line(`${name}_sum`, {}, sum), line(`${name}_count`, {}, count)];
  return [family('histogram', name, help, []), ...buckets, ...end].join('');
}

function line(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`);
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}\n`;
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
}

import type { Status } from '../health/boxStatus.ts';
import { PROBLEMS, type ProblemCode } from '../protocol/errors.ts';
import type { Store } from '../store/store.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';

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
  readonly store: Pick<Store, 'writer'>;
  readonly telemetry: Pick<Telemetry, 'totals' | 'refusals'>;
}

type Labels = Readonly<Record<string, string>>;
/** A value that is not known is null, and has no sample. */
type Value = number | null | undefined;
type Sample = readonly [labels: Labels, value: Value];

/** @param status what `status --json` prints. @returns every metric. */
export function metricsText(
  { store: { writer }, telemetry }: MetricSources,
  { problems, sources, daemon, store, ship }: Status,
): string {
  const { commits: count, requests, seconds: took, syncSeconds } = writer.appender.totals;
  const codes = Map.groupBy(problems, ({ code, level }) => `${code} ${level}`).values();
  const counts = [...codes].map((same): Sample => {
    const { code, level } = same[0]!;
    return [{ code, level }, same.length];
  });
  const info: Sample = [{ version: daemon.version ?? '', node: process.version }, 1];
  const gauge = (name: string, value: Value, help: string) => family('gauge', name, help, [[{}, value]]);
  const ofSources = (name: string, pick: (one: Status['sources'][number]) => Value, help: string) => {
    const shown = sources.slice(0, SOURCES_MOST);
    const samples = shown.map((one): Sample => [{ court_id: one.court_id, source: one.source }, pick(one)]);
    return family('gauge', name, help, samples);
  };
  const backupAt = seconds(store.last_backup_at);
  return [
    family('gauge', 'courtd_problem', 'Problems as courtd status reports them, by code and level.', counts),
    family('gauge', 'courtd_build_info', 'Always 1: the labels have the versions.', [info]),
    gauge('courtd_collected_timestamp_seconds', Date.now() / 1_000, 'When these metrics were collected.'),
    gauge('courtd_start_time_seconds', seconds(daemon.started_at), 'When the daemon was started.'),
    gauge('courtd_stored_events', store.events, 'Events in the database.'),
    gauge('courtd_stored_sessions', store.sessions, 'Sessions with events in the database.'),
    gauge('courtd_database_bytes', store.bytes, 'Size of the database file with its write-ahead log.'),
    gauge('courtd_wal_bytes', store.wal_bytes, 'Size of the write-ahead log.'),
    gauge('courtd_disk_free_bytes', store.free_bytes, 'Free space on the disk of the database.'),
    gauge('courtd_last_backup_timestamp_seconds', backupAt, 'When the last backup was made.'),
    gauge('courtd_ship_shipped_seq', ship?.shipped_seq, 'Headquarters has every event up to here.'),
    gauge('courtd_ship_behind_events', ship?.behind_events, 'Events that wait to be shipped.'),
    gauge('courtd_ship_behind_seconds', ship?.behind_s, 'Since the oldest event that waits was received.'),
    gauge('courtd_queued_requests', writer.queued, 'Requests that wait for a commit.'),
    ...counters(telemetry),
    summary('courtd_commit_seconds', 'Time of a group commit, from BEGIN to its end.', took, count),
    summary('courtd_sync_seconds', 'Time of COMMIT: writing and syncing the log.', syncSeconds, count),
    summary('courtd_commit_requests', 'Requests that shared a commit.', requests, count),
    ofSources(
      'courtd_source_last_event_timestamp_seconds',
      (one) => seconds(one.last_received_at),
      'When its last event was received.',
    ),
    ofSources(
      'courtd_source_clock_offset_seconds',
      (one) => one.clock_offset_s,
      'Its clock minus that of the box.',
    ),
    ofSources(
      'courtd_source_events_last_minute',
      (one) => one.events_last_minute,
      'Its events of the last minute.',
    ),
  ].join('');
}

function counters({ totals, refusals }: MetricSources['telemetry']): string[] {
  const { requests, ...results } = totals;
  const byCode = Object.entries({ accepted: requests, ...refusals.byCode }).map(([code, count]): Sample => {
    const status = PROBLEMS[code as ProblemCode]?.status ?? ACCEPTED_STATUS;
    return [{ status: `${status}`, code }, count];
  });
  const events = Object.entries(results).map(([result, count]): Sample => [{ result }, count]);
  return [
    family('counter', 'courtd_requests_total', 'Answered requests, by HTTP status and code.', byCode),
    family('counter', 'courtd_events_total', 'Events of accepted requests, by result.', events),
  ];
}

/** @returns since 1970-01-01T00:00:00Z. */
function seconds(time: string | null): number | null {
  return time === null ? null : Date.parse(time) / 1_000;
}

function family(
  type: 'gauge' | 'counter' | 'summary',
  name: string,
  help: string,
  samples: readonly Sample[],
): string {
  const lines = samples.map(([labels, value]) => (value == null ? '' : line(name, labels, value)));
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`;
}

/** Without quantiles. */
function summary(name: string, help: string, sum: number, count: number): string {
  return family('summary', name, help, []) + line(`${name}_sum`, {}, sum) + line(`${name}_count`, {}, count);
}

function line(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`);
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}\n`;
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
}

import type { DataDirectory } from '../base/dataDirectory.ts';
import type { SourceFindings } from '../health/facts.ts';
import { PROBLEMS, type ProblemCode } from '../protocol/errors.ts';
import { EVENT_TYPES } from '../protocol/eventTypes.ts';
import type { Store } from '../store/store.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { RESULTS } from '../telemetry/totals.ts';
import { directoryFamilies } from './directory.ts';
import type { EventLoopDelay } from './eventLoopDelay.ts';
import { counter, counters, gauge, gauges, histogram, type MetricFamily } from './family.ts';
import { type ShipGauges, shippingFamilies } from './shipping.ts';
import { problemFamilies, sourceFamilies } from './sources.ts';

const ACCEPTED_STATUS = 202;

/** What the metrics of a running daemon are made from, on request. */
export interface MetricSources {
  readonly data: DataDirectory;
  readonly version: string;
  readonly store: Pick<Store, 'meter' | 'queued' | 'tokens'>;
  readonly telemetry: Pick<Telemetry, 'totals' | 'refusals' | 'handshakes' | 'sourceGauges'>;
  readonly loopDelay: EventLoopDelay;
  /** Events are refused until there is room. */
  isFull(): boolean;
  /** Free space that the operator wants. */
  readonly minFreeBytes: number;
  /** How often a damaged part of the database was reported. */
  damageReports(): number;
  /** When the TLS certificate expires, in milliseconds since 1970-01-01T00:00:00Z; undefined without TLS. */
  certificateEndMs(): number | undefined;
  /** How far shipping has come; undefined where that cannot be determined. */
  shipping(): Promise<ShipGauges | undefined>;
  /** What status judges the cameras by. */
  sourceFindings(): SourceFindings;
}

/** @returns every metric of the daemon, in the order in which they are printed. @throws Node's error where the sizes cannot be read. */
export async function daemonFamilies(of: MetricSources): Promise<MetricFamily[]> {
  const [directory, ship] = await Promise.all([directoryFamilies(of.data, true), of.shipping()]);
  return [
    ...directory,
    ...processFamilies(of),
    ...requestFamilies(of),
    ...storeFamilies(of),
    ...sourceFamilies(of.telemetry.sourceGauges(), Date.now()),
    ...problemFamilies(of.sourceFindings()),
    ...shippingFamilies(ship),
  ];
}

function processFamilies({ version, loopDelay, certificateEndMs }: MetricSources): MetricFamily[] {
  const { user, system } = process.cpuUsage();
  const node = process.version;
  const endMs = certificateEndMs();
  return [
    gauges('courtd_build_info', 'Always 1: the labels say which version is running.', [
      { labels: { version, node }, value: 1 },
    ]),
    gauge('courtd_start_time_seconds', 'When the daemon was started.', performance.timeOrigin / 1_000),
    counter('courtd_cpu_seconds_total', 'CPU time that the daemon has used.', (user + system) / 1e6),
    gauge('courtd_resident_memory_bytes', 'Memory that the daemon has in use.', process.memoryUsage.rss()),
    histogram(
      'courtd_event_loop_delay_seconds',
      'How late the timers of the daemon are, ten times a second.',
      loopDelay.seconds,
    ),
    gauge(
      'courtd_certificate_expiry_timestamp_seconds',
      'When the TLS certificate expires; absent without TLS.',
      endMs === undefined ? null : endMs / 1_000,
    ),
  ];
}

function requestFamilies({ telemetry }: MetricSources): MetricFamily[] {
  const { requests: accepted, events } = telemetry.totals;
  return [
    counters(
      'courtd_requests_total',
      'Answered requests, by HTTP status and error code.',
      Object.entries({ accepted, ...telemetry.refusals.byCode }).map(([code, value]) => ({
        labels: { status: String(PROBLEMS[code as ProblemCode]?.status ?? ACCEPTED_STATUS), code },
        value,
      })),
    ),
    counter('courtd_tls_handshake_failures_total', 'TLS handshakes that failed.', telemetry.handshakes.count),
    counters(
      'courtd_events_total',
      'Events of accepted requests, by type and result.',
      EVENT_TYPES.flatMap((type, i) =>
        RESULTS.map((result) => ({ labels: { type, result }, value: events[result][i]! })),
      ),
    ),
  ];
}

function storeFamilies({ store, isFull, minFreeBytes, damageReports }: MetricSources): MetricFamily[] {
  const { commitSeconds, syncSeconds, requests } = store.meter;
  return [
    histogram(
      'courtd_commit_seconds',
      'Time of a group commit, from BEGIN to the end of COMMIT.',
      commitSeconds,
    ),
    histogram('courtd_sync_seconds', 'Time of COMMIT alone: writing and syncing the log.', syncSeconds),
    histogram('courtd_commit_requests', 'Requests that shared a commit.', requests),
    gauge('courtd_queued_requests', 'Requests that wait for a commit.', store.queued),
    gauge('courtd_token_valid', 'Whether there is a token that is accepted.', Number(store.tokens.isOpen)),
    gauge('courtd_disk_full', 'Whether events are refused because the disk is full.', Number(isFull())),
    gauge('courtd_disk_min_free_bytes', 'Free space below which the disk is low.', minFreeBytes),
    counter(
      'courtd_damage_reports_total',
      'How often a part of the database was found damaged.',
      damageReports(),
    ),
  ];
}

import type { DataDirectory } from '../base/dataDirectory.ts';
import { RESERVE_BYTES } from '../base/limits.ts';
import { OperatorError } from '../base/operatorError.ts';
import type { Validity } from '../host/tlsCertificate.ts';
import { withDatabase } from '../store/open/withDatabase.ts';
import { failureKind } from '../store/sqlite/errors.ts';
import type { SourceFacts, SourceReport } from '../telemetry/source.ts';
import type { RateReport } from '../telemetry/telemetry.ts';
import type { StatusProblem } from './finding.ts';
import { findProblems } from './findProblems.ts';
import { problem } from './problems.ts';
import { type ShipStatus, type ShipView, shipStatusOf } from './shipStatus.ts';
import type { SourceFindings } from './sourceProblems.ts';
import { readStoreFacts, type StoreFacts } from './storeFacts.ts';

/** `courtd status --json`, the only model of a box: the daemon makes it, and writes it to `status.json`. Null is not known. */
export interface Status {
  readonly state: 'ok' | 'attention' | 'failing' | 'stopped';
  readonly problems: readonly StatusProblem[];
  readonly daemon: {
    readonly running: boolean;
    readonly version: string | null;
    readonly started_at: string | null;
    readonly listening: string | null;
    readonly tls: boolean | null;
  };
  readonly store: {
    readonly events: number | null;
    readonly sessions: number | null;
    /** Of the database with its WAL. */
    readonly bytes: number;
    readonly wal_bytes: number;
    readonly free_bytes: number;
    /** Until the disk is full, as events come now. */
    readonly days_left: number | null;
    readonly last_backup_at: string | null;
  };
  readonly copy: {
    readonly place: string;
    readonly seq: number | null;
    readonly behind_events: number | null;
    readonly behind_s: number | null;
    readonly last_at: string | null;
    readonly error: string | null;
  } | null;
  readonly ship: ShipStatus | null;
  readonly tokens: { readonly active: number | null; readonly retiring: number | null };
  readonly rates: { readonly [Rate in keyof RateReport]: number | null };
  readonly sources: readonly Omit<SourceReport, keyof SourceFacts>[];
}

/** What the daemon answers over `control.sock`: its status, and what other commands need to know of it. */
export interface DaemonStatus {
  readonly version: string;
  /** Address and port. */
  readonly listening: string;
  readonly tls: boolean;
  /** With its SHA-256 fingerprint in lower-case hex. */
  readonly certificate: (Validity & { readonly sha256: string }) | null;
  /** The only venue_id that is accepted; null: any. */
  readonly venue: string | null;
  readonly status: Status;
}

/** All that the daemon judges a box by. */
export interface BoxFacts extends SourceFindings {
  readonly daemon: Pick<DaemonStatus, 'version' | 'listening' | 'tls' | 'certificate'> & {
    readonly started_at: string;
  };
  readonly rates: RateReport;
  /** Events are rejected until there is room. */
  readonly isFull: boolean;
  /** Part of the database was found damaged since the start. */
  readonly isDamaged: boolean;
  /** Free space that the operator wants; 0: any. */
  readonly minFreeBytes: number;
  readonly store: StoreFacts;
  readonly ship: ShipView | undefined;
}

/** @param nowMs by the box's clock. */
export function makeStatus(facts: BoxFacts, nowMs: number): Status {
  const { daemon, rates, store, ship } = facts;
  const problems = findProblems(facts, nowMs);
  const { version, started_at, listening, tls } = daemon;
  const isFailing = problems.some(({ level }) => level === 'fail');
  return {
    state: isFailing ? 'failing' : problems.length > 0 ? 'attention' : 'ok',
    problems,
    daemon: { running: true, version, started_at, listening, tls },
    store: store.store,
    copy: null,
    ship: ship?.isSetUp ? shipStatusOf(ship) : null,
    tokens: store.tokens,
    rates,
    sources: facts.sources.map(
      ({ quiet_s, missing_s, odd_fields, odd_times, in_conflict, ...source }) => source,
    ),
  };
}

/**
 * What a box shows without an answer of its daemon: events, sessions, bytes, free space and the last backup.
 * @param isRunning whether a daemon holds the data directory.
 * @throws {OperatorError} if there is no database, or this user may not read it.
 */
export async function statusWithoutDaemon(data: DataDirectory, isRunning: boolean): Promise<Status> {
  const facts = await withDatabase({ data }, (db) => readStoreFacts(data, db)).catch((error) => {
    const cause = error instanceof OperatorError ? error.cause : error;
    if (failureKind(cause) !== 'damaged') throw error;
    return readStoreFacts(data, undefined);
  });
  return {
    state: isRunning ? 'failing' : 'stopped',
    problems: [
      isRunning ? problem('daemon_hangs', data.path) : problem('daemon_stopped'),
      ...(facts.isDamaged ? [problem('damage')] : []),
      ...(facts.store.free_bytes < RESERVE_BYTES ? [problem('disk_full', facts.room)] : []),
    ],
    daemon: { running: isRunning, version: null, started_at: null, listening: null, tls: null },
    store: facts.store,
    copy: null,
    ship: null,
    tokens: { active: null, retiring: null },
    rates: {
      events_last_minute: null,
      events_last_hour: null,
      events_last_day: null,
      requests_last_minute: null,
      refused_last_minute: null,
    },
    sources: [],
  };
}

import type { Validity } from '../host/tlsCertificate.ts';
import type { SourceReport } from '../telemetry/source.ts';
import type { TelemetryReport } from '../telemetry/telemetry.ts';
import type { StatusProblem } from './problems.ts';

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
  readonly rates: { readonly [Rate in keyof TelemetryReport['rates']]: number | null };
  readonly sources: readonly Omit<SourceReport, 'quiet_s' | 'missing_s' | 'odd_fields' | 'odd_times'>[];
}

export type CopyStatus = NonNullable<Status['copy']>;

/** The answer of the daemon over `control.sock`: its status, and facts that other commands need. */
export interface DaemonStatus {
  /** Address and port. */
  readonly listening: string;
  readonly tls: boolean;
  /** With its SHA-256 fingerprint in lower-case hex. */
  readonly certificate: (Validity & { readonly sha256: string }) | null;
  /** The only venue_id that is accepted; null: any. */
  readonly venue: string | null;
  readonly status: Status;
}

export type ShipState = 'connecting' | 'current' | 'behind' | 'fenced' | 'refused';

/** `ship` in `courtd status --json`; null means unknown. */
export interface ShipStatus {
  readonly box: string | null;
  readonly epoch: string | null;
  /** Without anything secret. */
  readonly url: string | null;
  readonly state: ShipState;
  /** Headquarters has every event up to here. */
  readonly shipped_seq: number | null;
  readonly newest_seq: number | null;
  readonly behind_events: number | null;
  /** Since the oldest event that is not shipped was received. */
  readonly behind_s: number | null;
  readonly last_ack_at: string | null;
  readonly error: string | null;
}

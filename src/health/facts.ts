import type { Validity } from '../host/tlsCertificate.ts';
import type { PruneSuggestion } from '../store/read/pruneSuggestion.ts';
import type { TelemetryReport } from '../telemetry/telemetry.ts';

/** What the rules judge, as plain data: whoever asks them has gathered it. What is not known is null or undefined. */
export interface BoxFacts {
  /** Undefined where no daemon runs, or it does not answer. */
  readonly daemon: DaemonFacts | undefined;
  /** Of a daemon that does not answer: for how long, in a sentence. */
  readonly hangs: { readonly message: string } | undefined;
  readonly store: StoreFacts;
}

/** What only the daemon knows. */
export interface DaemonFacts extends Pick<TelemetryReport, 'sources' | 'refusals'> {
  readonly certificate: Validity | null;
  /** Events are refused until there is room. */
  readonly is_full: boolean;
  /** How often it has found a part of the database damaged, since it started. */
  readonly damage_reports: number;
  /** Free space that the operator wants, in bytes; 0: any. */
  readonly min_free_bytes: number;
}

/** What the data directory shows. */
export type StoreFacts = DiskFacts & BackupFacts & OtherFacts;

interface OtherFacts {
  readonly tokens: { readonly active: number | null; readonly retiring: number | null };
  /** Parts of it could not be read. */
  readonly isDamaged: boolean;
  /** For how long there has been a new database, in milliseconds; undefined where it is not new. */
  readonly newMs: number | undefined;
  readonly ship: ShipFacts | undefined;
}

export interface DiskFacts {
  readonly directory: string;
  readonly store: {
    readonly wal_bytes: number;
    readonly free_bytes: number;
    /** Until the disk is full, as events come now. */
    readonly days_left: number | null;
  };
  /** As the settings have it, where no daemon says so. */
  readonly minFreeBytes: number;
  readonly hasPruneFailed: boolean;
  readonly room: RoomFacts;
}

/** What would make room on the disk. */
export interface RoomFacts {
  /** Undefined where no prune does. */
  readonly suggestion: PruneSuggestion | undefined;
  /** Of the database file. */
  readonly bytes: number;
  /** Of earlier databases in the data directory. */
  readonly previousBytes: number;
}

export interface BackupFacts {
  readonly store: { readonly last_backup_at: string | null };
  /** When the oldest event was received, in milliseconds since 1970-01-01T00:00:00Z. */
  readonly oldestMs: number | undefined;
  readonly hasBackupFailed: boolean;
}

/** How far shipping has got. */
export interface ShipFacts {
  /** Whether events are to be shipped from here. */
  readonly isSetUp: boolean;
  readonly running: boolean;
  readonly state: string;
  readonly error: string | null;
  /** Since the oldest event that is not shipped was received. */
  readonly behind_s: number | null;
}

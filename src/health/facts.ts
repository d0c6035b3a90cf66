import type { Validity } from '../host/tlsCertificate.ts';
import type { PruneSuggestion } from '../store/read/pruneSuggestion.ts';
import type { WaitingEvents } from '../store/rejections/refusedBody.ts';
import type { DaemonStatus } from './daemonStatus.ts';
import type { ShipView } from './shipStatus.ts';

/** What the rules judge, as plain data: whoever asks them has gathered it. What is not known is null or undefined. */
export interface BoxFacts {
  /** Undefined where no daemon runs, or it does not answer. */
  readonly daemon: DaemonFacts | undefined;
  /** Of a daemon that does not answer: for how long, in a sentence. */
  readonly hangs: { readonly message: string } | undefined;
  readonly store: StoreFacts;
}

/** What of the daemon's status is judged. */
export interface DaemonFacts
  extends SourceFindings,
    Pick<DaemonStatus, 'is_full' | 'damage_reports' | 'min_free_bytes'> {
  readonly certificate: Validity | null;
}

/** What the sources are judged by. */
export type SourceFindings = Pick<
  DaemonStatus,
  'sources' | 'refusals' | 'handshakes' | 'quiet_venue' | 'old_tokens' | 'is_quiet_hours'
>;

/** What the data directory shows. */
export type StoreFacts = DiskFacts & BackupFacts & OtherFacts;

interface OtherFacts {
  readonly tokens: { readonly active: number | null; readonly retiring: number | null };
  /** Parts of it could not be read. */
  readonly isDamaged: boolean;
  /** For how long there has been a new database, in milliseconds; undefined where it is not new. */
  readonly newMs: number | undefined;
  readonly ship: ShipFacts | undefined;
  /** When erasures of players were asked for that are not finished, the latest; milliseconds since 1970-01-01T00:00:00Z. */
  readonly unfinishedErasureMs: number | undefined;
  /** Refused events that are kept, by who sent them. */
  readonly refused: readonly WaitingEvents[];
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
export type ShipFacts = Pick<ShipView, 'url' | 'isSetUp' | 'running' | 'state' | 'error' | 'behind_s'>;

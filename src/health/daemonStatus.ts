import type { OldToken } from '../store/tokens/tokenUse.ts';
import type { TelemetryReport } from '../telemetry/telemetry.ts';

/** What only the daemon knows, as it says over `control.sock`. */
export interface DaemonStatus extends TelemetryReport {
  readonly version: string;
  readonly started_at: string;
  /** Address and port. */
  readonly listening: string;
  readonly tls: boolean;
  readonly certificate: {
    readonly valid_from: string;
    readonly expires_at: string;
    /** Its fingerprint, in lower-case hex. */
    readonly sha256: string;
  } | null;
  /** The only venue_id that is accepted; null: any. */
  readonly venue: string | null;
  /** Events are refused until there is room. */
  readonly is_full: boolean;
  /** How often it has found a part of the database damaged, since it started. */
  readonly damage_reports: number;
  /** Free space that the operator wants, in bytes; 0: any. */
  readonly min_free_bytes: number;
  /** Tokens that end, and are still used. */
  readonly old_tokens: readonly OldToken[];
  /** Nobody is to be told now that a camera is silent. */
  readonly is_quiet_hours: boolean;
}

import type { ShipStatus } from '../../fleet/feed/shipNote.ts';
import type { StatusProblem } from '../../health/finding.ts';
import type { SourceReport } from '../../telemetry/sourceTable.ts';
import type { RateReport } from '../../telemetry/telemetry.ts';

/** `courtd status --json`: what is not known is null. */
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
    readonly bytes: number;
    readonly wal_bytes: number;
    readonly free_bytes: number;
    readonly days_left: number | null;
    readonly last_backup_at: string | null;
  };
  readonly tokens: { readonly active: number | null; readonly retiring: number | null };
  readonly rates: { readonly [Rate in keyof RateReport]: number | null };
  readonly ship: ShipStatus | null;
  readonly sources: readonly Omit<SourceReport, 'quiet_s' | 'last_hour' | 'odd_fields'>[];
}

import type { TelemetryReport } from '../telemetry/telemetry.ts';
import { answerJson, type ControlRoute } from './controlServer.ts';

/** An answer is good for so long: many who ask at once cost no more than one. */
const KEPT_MS = 100;

/** What only the daemon knows. */
export interface DaemonStatus extends TelemetryReport {
  readonly version: string;
  readonly started_at: string;
  /** Address and port. */
  readonly listening: string;
  readonly tls: boolean;
  readonly certificate: { readonly valid_from: string; readonly expires_at: string } | null;
  /** Events are refused until there is room. */
  readonly is_full: boolean;
  /** Free space that the operator wants, in bytes; 0: any. */
  readonly min_free_bytes: number;
}

/** `GET /v1/status`. */
export function statusRoute(look: () => DaemonStatus): ControlRoute {
  let [kept, lookedAt]: [DaemonStatus | undefined, number] = [undefined, 0];
  return {
    method: 'GET',
    path: '/v1/status',
    answer: (_req, res) => {
      const now = performance.now();
      if (kept === undefined || now - lookedAt > KEPT_MS) [kept, lookedAt] = [look(), now];
      answerJson(res, kept);
    },
  };
}

import { SOURCES_KNOWN } from '../base/limits.ts';
import { byName } from '../base/visibleText.ts';
import type { RecentSource } from '../store/read/storeSummary.ts';
import type { SourceReport } from '../telemetry/source.ts';
import type { RateReport } from '../telemetry/telemetry.ts';
import type { DaemonStatus } from './daemonStatus.ts';
import type { StoreFacts } from './facts.ts';
import { asPrinted, type StatusProblem } from './finding.ts';
import { findProblems } from './problems.ts';
import { type ShipStatus, type ShipView, shipStatusOf } from './shipStatus.ts';

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
  readonly sources: readonly StatusSource[];
}

type StatusSource = Omit<SourceReport, 'quiet_s' | 'missing_s' | 'odd_fields' | 'odd_times' | 'in_conflict'>;

/** What the data directory says, whether a daemon runs or not. */
export interface StoreView extends StoreFacts {
  readonly store: Status['store'];
  readonly recent: readonly RecentSource[];
  readonly ship: ShipView | undefined;
}

/** What the daemon says: undefined where none runs, and why where it does not answer. */
export interface DaemonView {
  readonly daemon: DaemonStatus | undefined;
  readonly hangs: { readonly message: string } | undefined;
}

/** The whole of what is known: `courtd status --json`, and for the screen what there is beyond that. */
export interface StatusReport {
  readonly status: Status;
  readonly sources: readonly SourceReport[];
}

const NO_RATES: Status['rates'] = {
  events_last_minute: null,
  events_last_hour: null,
  events_last_day: null,
  requests_last_minute: null,
  refused_last_minute: null,
};

/** @param nowMs by the box's clock. */
export function makeReport(view: DaemonView, store: StoreView, nowMs: number): StatusReport {
  const { daemon } = view;
  const problems = findProblems({ ...view, store }, nowMs);
  const sources = withUnheard(daemon?.sources ?? [], store);
  const isRunning = daemon !== undefined || view.hangs !== undefined;
  const status: Status = {
    state: isRunning ? stateOf(problems) : 'stopped',
    problems: problems.map(asPrinted),
    daemon: {
      running: isRunning,
      version: daemon?.version ?? null,
      started_at: daemon?.started_at ?? null,
      listening: daemon?.listening ?? null,
      tls: daemon?.tls ?? null,
    },
    store: store.store,
    tokens: store.tokens,
    rates: daemon?.rates ?? NO_RATES,
    ship: store.ship?.isSetUp ? shipStatusOf(store.ship) : null,
    sources: sources.map(withoutFacts),
  };
  return { status, sources };
}

/** @returns how a box is whose daemon runs. */
export function stateOf(problems: readonly StatusProblem[]): 'ok' | 'attention' | 'failing' {
  if (problems.length === 0) return 'ok';
  return problems.some(({ level }) => level === 'fail') ? 'failing' : 'attention';
}

function withoutFacts(report: SourceReport): StatusSource {
  const { quiet_s, missing_s, odd_fields, odd_times, in_conflict, ...source } = report;
  return source;
}

/** Those of which the daemon knows nothing yet are taken from the newest events. */
function withUnheard(heard: readonly SourceReport[], { recent }: StoreView): SourceReport[] {
  const known = new Map(heard.map((source) => [JSON.stringify([source.court_id, source.source]), source]));
  for (const { court, source, lastMs } of recent) {
    const key = JSON.stringify([court, source]);
    const last_received_at = new Date(lastMs).toISOString();
    const found = known.get(key);
    if (found?.last_received_at || (found === undefined && known.size >= SOURCES_KNOWN)) continue;
    known.set(key, { ...UNHEARD, ...found, source, court_id: court, last_received_at });
  }
  return [...known.values()].sort((a, b) => byName(a.court_id, b.court_id) || byName(a.source, b.source));
}

const UNHEARD: Omit<SourceReport, 'source' | 'court_id' | 'last_received_at'> = {
  client: null,
  state: 'unknown',
  events_last_minute: null,
  events_last_day: null,
  clock_offset_s: null,
  lateness_p95_s: null,
  duplicates: null,
  conflicts: null,
  refused_last_day: null,
  quiet_s: null,
  missing_s: null,
  odd_fields: [],
  odd_times: 0,
  in_conflict: 0,
};

import { SOURCES_KNOWN } from '../../base/limits.ts';
import { byName } from '../../base/visibleText.ts';
import { shipStatusOf } from '../../fleet/feed/shipStatus.ts';
import { findProblems } from '../../health/problems.ts';
import type { SourceReport } from '../../telemetry/sourceTable.ts';
import type { Status } from './statusJson.ts';
import type { DaemonView, StoreView } from './views.ts';

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
  const worst = problems.some(({ level }) => level === 'fail') ? 'failing' : 'attention';
  const status: Status = {
    state: isRunning ? (problems.length === 0 ? 'ok' : worst) : 'stopped',
    problems,
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
    sources: sources.map(({ quiet_s: _quiet, last_hour: _hour, odd_fields: _odd, ...source }) => source),
  };
  return { status, sources };
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
  by_type: {},
  clock_offset_s: null,
  lateness_s: { p50: null, p95: null },
  duplicates: null,
  conflicts: null,
  refused_last_day: null,
  quiet_s: null,
  last_hour: [],
  odd_fields: [],
};

import type { AddressInfo } from 'node:net';
import { OperatorError } from '../../base/operatorError.ts';
import { isQuiet, type QuietHours } from '../../base/quietHours.ts';
import { STATUS_PATH } from '../../control/controlClient.ts';
import { type ControlRoutes, jsonRoute } from '../../control/controlServer.ts';
import { DROP_PATH, ERASE_PATH, type EraseBody, PRUNE_PATH, workRoute } from '../../control/workRoutes.ts';
import { viewCopy } from '../../fleet/report/copyReport.ts';
import { viewShip } from '../../fleet/report/shipReport.ts';
import type { CopyStatus, DaemonStatus, ShipStatus } from '../../health/boxStatus.ts';
import { makeStatus } from '../../health/makeStatus.ts';
import { problem } from '../../health/problems.ts';
import { readStoreFacts } from '../../health/storeFacts.ts';
import type { StoreWatch } from '../../health/storeWatch.ts';
import type { Log } from '../../host/log.ts';
import type { LogLevel } from '../../host/logLevels.ts';
import type { SystemdNotifier } from '../../host/systemdNotify.ts';
import type { TlsCertificate } from '../../host/tlsCertificate.ts';
import { PATH as EVENTS_PATH } from '../../http/preconditions.ts';
import type { CourtServer } from '../../http/server.ts';
import { METRICS_PATH } from '../../metrics/prometheusText.ts';
import { mayName, naming } from '../../protocol/playerRedaction.ts';
import type { DataOption } from '../../store/db/openDatabase.ts';
import { isOfAll, type PruneSelection } from '../../store/keep/expiredEvents.ts';
import { type Keep, retainNightly } from '../../store/keep/nightlyRetention.ts';
import type { Pruned } from '../../store/keep/pruneEvents.ts';
import type { StepProgress } from '../../store/keep/steps.ts';
import { readShipLag, type Shipped } from '../../store/read/shipLag.ts';
import type { RefusedSelection } from '../../store/refused/refusedFile.ts';
import type { RefusedRequests } from '../../store/refused/refusedRequests.ts';
import type { Store } from '../../store/store.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import { holdOf } from '../options/shipHold.ts';

/** A daemon that runs, and what it says of itself to commands. */

export interface ServeOptions extends DataOption, Keep {
  readonly host: string;
  readonly port: number;
  readonly venue?: string;
  /** Requests a second from one address; 0: no limit. */
  readonly rateLimit: number;
  /** Open connections of one address; 0: no limit. */
  readonly connectionsPerAddress: number;
  /** Bytes. */
  readonly bodyLimit: number;
  /** Bytes; 0: no warning. */
  readonly minFree: number;
  /** Bytes; 0: none is kept. */
  readonly refusedBytes: number;
  readonly logLevel: LogLevel;
  /** When a silent camera is not reported; absent: never. */
  readonly quiet?: QuietHours;
  /** PEM files for TLS: both or neither. */
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  /** Where `status.json` and `metrics.prom` are written; absent: nowhere. */
  readonly runDir?: string;
}

/** What a daemon is started with. */
export interface Frame {
  readonly options: ServeOptions;
  readonly version: string;
  readonly log: Log;
  readonly notifier: SystemdNotifier;
  /** Parts to stop, in the reverse of the order in which they started. */
  readonly parts: AsyncDisposableStack;
}

export interface Daemon extends Frame {
  readonly certificate: TlsCertificate | undefined;
  readonly watch: StoreWatch;
  readonly store: Store;
  readonly rejected: RefusedRequests;
  readonly telemetry: Telemetry;
  readonly server: CourtServer;
}

/** @returns how far copy and shipping are; nothing if the database cannot be read now: events come first, and others say so. */
function elsewhereOf(
  store: Store,
  { data, runDir }: Pick<ServeOptions, 'data' | 'runDir'>,
): { copy?: CopyStatus | null; ship?: ShipStatus | null } {
  const env = { ...process.env, ...(runDir && { COURTD_RUN_DIR: runDir }) };
  const readLag = (...shipped: Shipped) => readShipLag(store.db, ...shipped);
  try {
    return { copy: viewCopy(data.path, readLag, env), ship: viewShip(data, readLag, env) };
  } catch {
    return {};
  }
}

/** What commands may ask over `control.sock`, by its path. */
export function routesOf(daemon: Daemon, metrics: () => string, status: () => DaemonStatus): ControlRoutes {
  const { store, rejected, telemetry, server } = daemon;
  return {
    ...jsonRoute(STATUS_PATH, status),
    ...jsonRoute(METRICS_PATH, metrics),
    [EVENTS_PATH]: (req, res) => server.serveLocal(req, res),
    ...workRoute(DROP_PATH, async (which: RefusedSelection) => {
      const dropped = await rejected.delete(which);
      telemetry.rejectionsAre(rejected.recent());
      return dropped;
    }),
    ...workRoute(PRUNE_PATH, (which: PruneSelection, ...work) => prune(daemon, which, ...work)),
    ...workRoute(ERASE_PATH, async ({ player, before }: EraseBody, on, signal) => {
      const beforeNs = before === undefined ? undefined : BigInt(before);
      const rejections = await rejected.erase(mayName(naming(player)));
      telemetry.rejectionsAre(rejected.recent());
      return { ...(await store.erase({ player, beforeNs, nowMs: Date.now() }, on, signal)), rejections };
    }),
  };
}

/** Deletes events that need not stay, and the rejected requests of that age. @throws as Store.prune. */
async function prune(
  daemon: Daemon,
  selection: PruneSelection,
  on: StepProgress,
  signal: AbortSignal,
): Promise<Pruned & { readonly rejections: number }> {
  const { store, rejected } = daemon;
  const pruned = await store.prune({ ...selection, ...heldBack(daemon) }, on, signal);
  const rejections = isOfAll(selection) ? await rejected.delete({ beforeMs: selection.beforeMs }) : 0;
  return { ...pruned, rejections };
}

/** @returns what stays until it is shipped and copied: by the daemon's settings, which a command under `sudo` does not have. */
function heldBack({ store, options }: Daemon): Pick<PruneSelection, 'hold'> {
  const { ship, copy } = elsewhereOf(store, options);
  if (ship === undefined || copy === undefined)
    throw new OperatorError('The database cannot be read now. Try again.');
  return holdOf(ship, copy);
}

/** Deletes by itself, as `prune` does. */
export function nightlyRetention(daemon: Daemon): { readonly stop: () => void } {
  const { options, log } = daemon;
  const run = async (selection: PruneSelection, signal: AbortSignal) => {
    const { events, rejections, held } = await prune(daemon, selection, () => {}, signal);
    log.logger.info({ type: selection.type, events, rejections, held }, 'deleted old events');
  };
  return retainNightly(options, run, (reason) => log.logger.warn({ reason }, 'retention waits'));
}

/** @returns how the box is, as `status --json` prints it and `status.json` has it. */
export function boxStatus(
  { options, version, certificate, watch, store, rejected, telemetry }: Daemon,
  { address, port }: AddressInfo,
  startedAt: string,
): DaemonStatus {
  const listening = address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
  const tls = certificate !== undefined;
  const shown = certificate ? { ...certificate.validity, sha256: certificate.fingerprint } : null;
  const { data, minFree, quiet, venue = null } = options;
  const facts = {
    ...telemetry.report(),
    daemon: { running: true, version, started_at: startedAt, listening, tls },
    certificate: shown,
    waiting: rejected.waiting,
    old_tokens: store.tokens.old,
    is_quiet_hours: quiet !== undefined && isQuiet(quiet, new Date()),
    isFull: watch.isFull,
    isDamaged: watch.isDamaged,
    minFreeBytes: minFree,
    store: readStoreFacts(data, store.db, watch),
    ...{ copy: undefined, ship: undefined, ...elsewhereOf(store, options) },
  };
  return { listening, tls, certificate: shown, venue, status: makeStatus(facts, Date.now()) };
}

/** @returns the line that `systemctl status` shows. */
export function statusLine({ store, watch }: Daemon): string {
  const wrong = watch.isFull ? problem('disk_full') : store.tokens.isOpen ? undefined : problem('no_token');
  return wrong === undefined ? 'listening' : `${wrong.message} ${wrong.advice}`;
}

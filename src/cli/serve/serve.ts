import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import { OperatorError } from '../../base/operatorError.ts';
import { courtdVersion } from '../../base/version.ts';
import { askDaemon } from '../../control/controlClient.ts';
import { ControlServer, jsonRoute } from '../../control/controlServer.ts';
import { type DaemonStatus, STATUS_PATH } from '../../control/daemonStatus.ts';
import { pruneRoute } from '../../control/pruneRoute.ts';
import { rejectionRoutes } from '../../control/rejectionRoutes.ts';
import { type ShipView, viewShip } from '../../fleet/feed/shipStatus.ts';
import { shipSettingsOf } from '../../fleet/ship/settings.ts';
import { DiskSpaceMonitor } from '../../health/diskSpaceMonitor.ts';
import { logProblem } from '../../health/logProblem.ts';
import { certificateProblems } from '../../health/problems.ts';
import { problem } from '../../health/rules.ts';
import { listenFailure } from '../../host/listenFailure.ts';
import { type Log, makeLog } from '../../host/log.ts';
import type { LogLevel } from '../../host/logLevels.ts';
import { type InheritedSocket, takeSocket } from '../../host/socketActivation.ts';
import { STATUS_CHECK_MS, SystemdNotifier } from '../../host/systemdNotify.ts';
import { TlsCertificate } from '../../host/tlsCertificate.ts';
import { AccessLog } from '../../http/accessLog.ts';
import { RateLimit } from '../../http/admission/rateLimit.ts';
import { PacedRequest } from '../../http/connection/pacedRequest.ts';
import { PATH as EVENTS_PATH } from '../../http/request/preconditions.ts';
import { CourtServer } from '../../http/server.ts';
import { previousDatabases } from '../../store/open/previousDatabases.ts';
import type { ShippedOf } from '../../store/read/shipLag.ts';
import { failureKind, sqliteCode } from '../../store/sqlite/errors.ts';
import { Store, type StoreEvents } from '../../store/store.ts';
import { RefusalBook } from '../../telemetry/refusalBook.ts';
import { RejectionWriter } from '../../telemetry/rejectionWriter.ts';
import { Telemetry } from '../../telemetry/telemetry.ts';
import type { DataOption } from '../options/withDatabase.ts';
import { startMetrics } from './serveMetrics.ts';

export interface ServeOptions extends DataOption {
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
  readonly logLevel: LogLevel;
  /** PEM files for TLS: both or neither. */
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  /** Where the metrics are written; absent: nowhere. */
  readonly metricsFile?: string;
  /** Names of the options that were set, as flags or environment variables. */
  readonly given?: readonly string[];
}

/**
 * `courtd serve`: wires the daemon together and runs it until SIGTERM or SIGINT. Where systemd passes a socket, it
 * serves that one.
 * @returns the port, once it is listening. The process exits on its own: 0 after a signal, 1 after a fatal failure.
 * @throws {OperatorError} where the daemon cannot start.
 */
export async function serve(options: ServeOptions): Promise<number> {
  const log = makeLog(options.logLevel);
  const notifier = new SystemdNotifier(log.logger);
  try {
    return await start(options, log, notifier);
  } catch (error) {
    if (error instanceof OperatorError) await notifier.failed(error.message);
    throw error;
  }
}

async function start(options: ServeOptions, log: Log, notifier: SystemdNotifier): Promise<number> {
  const { logger } = log;
  let server: CourtServer | undefined;
  let certificate: TlsCertificate | undefined;
  // Installed before anything slow: by default, SIGHUP kills a process. SIGTERM and SIGINT may do so until requests are
  // accepted: systemd counts that as a clean exit, and it takes effect at once, even in the middle of an upgrade.
  process.on('SIGHUP', () => {
    if (certificate === undefined) logger.info('SIGHUP is ignored: there is no TLS certificate to reload');
    else certificate.reload((keyPair) => server?.replaceKeyPair(keyPair));
  });
  process.on('uncaughtException', (error) => die(log, error, 'a bug in courtd: please report it'));
  certificate = certificateOf(options, log);
  const socket = takeSocket();
  notifier.starting();
  const health: Health = { isFull: false, damageReports: 0 };
  // One that answers does not go away; a command that writes does.
  const isTaken = await askDaemon(options.data, STATUS_PATH).catch(() => true);
  const waitMs = isTaken === undefined ? LOCK_WAIT_MS : 0;
  const store = await Store.open(options.data, storeEvents(log, health, options.data), { waitMs });
  const disk = new DiskSpaceMonitor(options.data, options.minFree, logger);
  const telemetry = new Telemetry(new RefusalBook(store.rejections()));
  const { refusals } = telemetry;
  const accessLog = new AccessLog(logger, refusals.byCode);
  const rejectionWriter = new RejectionWriter(refusals, (changes) => store.writeRejections(changes));
  const rules = options.venue === undefined ? {} : { venue: options.venue };
  server = new CourtServer({
    preconditions: {
      tokens: store.tokens,
      rate: new RateLimit(options.rateLimit),
      bodyLimitBytes: options.bodyLimit,
    },
    rules,
    log: logger,
    accessLog,
    telemetry,
    append: (events) => store.append(events),
    connectionsPerAddress: options.connectionsPerAddress,
    keyPair: certificate?.keyPair,
  });
  let tokenTimer: NodeJS.Timeout | undefined;
  const version = courtdVersion();
  const sources = {
    data: options.data,
    version,
    store,
    telemetry,
    isFull: () => health.isFull,
    minFreeBytes: options.minFree,
    damageReports: () => health.damageReports,
    certificateEndMs: () => certificate && Date.parse(certificate.validity.expires_at),
    shipping: () => shippingOf(store, options.data),
  };
  const metrics = startMetrics(options.metricsFile, sources, logger);
  const { address, port } = await listen(server, store, options, socket);
  const startedAt = new Date().toISOString();
  const control = new ControlServer(
    options.data,
    [
      jsonRoute<DaemonStatus>(STATUS_PATH, async () => {
        // `token rotate` asks this: whoever looks at `systemctl status` next sees that there is a token.
        await notifier.refresh({ status: () => status(store, health.isFull) });
        return {
          version,
          started_at: startedAt,
          listening: address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`,
          tls: certificate !== undefined,
          certificate: certificate ? { ...certificate.validity, sha256: certificate.fingerprint } : null,
          venue: options.venue ?? null,
          is_full: health.isFull,
          damage_reports: health.damageReports,
          min_free_bytes: options.minFree,
          ...telemetry.report(),
        };
      }),
      metrics.route,
      ...rejectionRoutes(refusals),
      {
        method: 'POST',
        path: EVENTS_PATH,
        answer: (req, res) => server?.serveLocal(req as PacedRequest, res),
      },
      pruneRoute((selection, on, signal) => {
        // Those of a type are not known: refused requests hold any.
        if (selection.type === undefined) refusals.forget(selection);
        return store.prune(selection, on, signal);
      }),
    ],
    logger,
    PacedRequest,
  );
  const stop = async (signal: NodeJS.Signals) => {
    logger.info({ signal }, 'stopping: requests in progress are answered first');
    const told = notifier.stopping();
    clearInterval(tokenTimer);
    await server?.close();
    await control.close();
    await metrics.stop();
    rejectionWriter.stop();
    await store.close();
    disk.stop();
    certificate?.stop();
    accessLog.stop();
    // A message behind another one would otherwise end with this process.
    await told;
    logger.info('stopped');
    log.exit(0);
  };
  // A second signal changes nothing: requests in progress are still being answered.
  let isStopping = false;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (!isStopping) void stop(signal);
      isStopping = true;
    });
  }
  // Before the log says so: whoever waits for that line may send a command at once.
  await control.listen();
  await metrics.file?.write();
  const inherited = socket && { socket: `${socket.name}, from systemd` };
  const { data, venue = null } = options;
  logListening(logger, { host: address, port, ...inherited, tls: certificate !== undefined, data, venue });
  if (socket !== undefined) warnOfIgnoredOptions(options, socket, logger);
  logPreviousDatabases(options.data, logger);
  notifier.ready({ status: () => status(store, health.isFull), check: () => store.answers() });
  await disk.check();
  if (!store.tokens.isOpen) tokenTimer = warnOfMissingToken(store, logger);
  return port;
}

/** How long a start waits for a command that writes, such as a prune, which gives way every 15 s. */
const LOCK_WAIT_MS = 30_000;

/** Programs wait for this line, so it is written at every level but `silent`. */
function logListening(log: Logger, fields: object): void {
  const logger = log.isLevelEnabled('fatal') ? log.child({}, { level: 'info' }) : log;
  logger.info(fields, 'listening');
}

/** @returns undefined where the database cannot be read now: events come first, and others say so. */
function shippingOf(store: Store, data: string): Promise<ShipView | undefined> {
  const readLag = (shippedOf: ShippedOf) => store.shipLag(shippedOf);
  return viewShip(data, readLag, shipSettingsOf(process.env)).catch(() => undefined);
}

/** Warns that there is no token. @returns the timer that checks for one, until it has logged that there is one. */
function warnOfMissingToken(store: Store, logger: Logger): NodeJS.Timeout {
  logProblem(logger, problem('no_token'));
  const timer = setInterval(() => {
    if (!store.tokens.isOpen) return;
    clearInterval(timer);
    logger.info('there is a token now: requests with it are accepted');
  }, STATUS_CHECK_MS);
  return timer.unref();
}

/** A port changed in courtd.env has no effect under socket activation: says where to change it. */
function warnOfIgnoredOptions({ given = [] }: ServeOptions, { name }: InheritedSocket, logger: Logger): void {
  for (const option of given.filter((option) => ['host', 'port'].includes(option))) {
    logger.warn(
      `--${option} (COURTD_${option.toUpperCase()}) is ignored: courtd listens where systemd's ${name} says; ` +
        'change it with "systemctl edit courtd.socket"',
    );
  }
}

/** Restores and upgrades keep the previous database; only a person knows when it is safe to delete. */
function logPreviousDatabases(data: string, logger: Logger): void {
  const { names, bytes } = previousDatabases(data);
  if (names.length === 0) return;
  logger.info(
    { files: names, mib: mebibytes(bytes) },
    'the data directory holds previous databases: delete those that you no longer need',
  );
}

/** @returns the line that `systemctl status` shows. */
function status(store: Store, isFull: boolean): string {
  const wrong = isFull ? problem('disk_full') : store.tokens.isOpen ? undefined : problem('no_token');
  return wrong === undefined ? 'listening' : `${wrong.message} ${wrong.advice}`;
}

/** @throws {OperatorError} where its files cannot be used. */
function certificateOf({ tlsCert, tlsKey }: ServeOptions, { logger }: Log): TlsCertificate | undefined {
  if (tlsCert === undefined || tlsKey === undefined) return undefined;
  return new TlsCertificate({ cert: tlsCert, key: tlsKey }, logger, (validity) => {
    const [end] = certificateProblems({ certificate: validity }, Date.now());
    if (end !== undefined) logProblem(logger, end, validity);
  });
}

async function listen(
  server: CourtServer,
  store: Store,
  { host, port }: ServeOptions,
  socket: InheritedSocket | undefined,
): Promise<AddressInfo> {
  try {
    return await server.listen(socket === undefined ? { host, port } : { fd: socket.fd });
  } catch (error) {
    await store.close();
    const { code } = error as NodeJS.ErrnoException;
    if (socket !== undefined && code !== undefined) {
      throw new OperatorError(
        `Cannot listen on the socket that systemd passed (${socket.name}): it is not a listening TCP socket. ` +
          'In courtd.socket, set one ListenStream= with a port, and leave out Accept=.',
      );
    }
    throw listenFailure(error, host, port) ?? error;
  }
}

/** What the store has reported. */
interface Health {
  /** Events are refused until there is room. */
  isFull: boolean;
  /** How often a part of the database was found damaged. */
  damageReports: number;
}

function storeEvents(log: Log, health: Health, data: string): StoreEvents {
  const { logger } = log;
  return {
    full: (error) => {
      health.isFull = true;
      logProblem(logger, problem('disk_full'), { code: sqliteCode(error) }, 'error');
    },
    walLarge: (bytes) => logProblem(logger, problem('log_held', data, bytes), { wal_mib: mebibytes(bytes) }),
    walSmall: (bytes) => logger.info({ wal_mib: mebibytes(bytes) }, 'the write-ahead log is small again'),
    upgrading: ({ doing, bytes, ...line }) =>
      logger.info({ ...line, copied_mib: mebibytes(bytes) }, UPGRADE_SENTENCES[doing]),
    made: () => logProblem(logger, problem('new_database', data, 0), { data }),
    healed: () => {
      health.isFull = false;
      logger.info('there is room on the disk again: events are stored');
    },
    damaged: (error) => {
      health.damageReports++;
      logProblem(logger, problem('database_damaged'), { code: sqliteCode(error) }, 'error');
    },
    unexpected: (err) => logger.error({ err }, 'a bug in courtd: please report it'),
    fatal: (error) => die(log, error, reasonOf(error)),
  };
}

const UPGRADE_SENTENCES = {
  copying: 'the database has an older layout: it is copied before it is upgraded',
  changing: 'the database is being upgraded to the new layout: events are accepted when that is done',
  done: 'the database is up to date',
} as const;

/** @returns why the daemon exits, as the operator's log says it. */
function reasonOf(error: unknown): string {
  if (error instanceof OperatorError) return error.message;
  return failureKind(error) === 'damaged' ? DAMAGED : DISK_FAILED;
}

const DISK_FAILED =
  'the disk failed to read or write, so nothing can be guaranteed any more: check the disk, and start courtd again';
const DAMAGED =
  'the database is damaged, or the disk failed, so nothing can be guaranteed any more: check the disk, and start courtd again; ' +
  'if that does not help, keep a copy of the database and restore a backup';

function mebibytes(bytes: number): number {
  return Math.round(bytes / 1024 ** 2);
}

let isDying = false;

/**
 * Logs why, and exits with status 1. The database is not closed: after a failed write or fsync, nothing that closing would write
 * can be trusted. Further failures are not logged.
 */
function die({ logger, exit }: Log, error: unknown, message: string): void {
  if (isDying) return;
  isDying = true;
  logger.fatal(error instanceof OperatorError ? {} : { err: error, code: sqliteCode(error) }, message);
  // At the end of the turn: requests in progress are still answered 503.
  setImmediate(() => exit(1));
}

import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import { OperatorError } from '../../base/operatorError.ts';
import { DiskSpaceMonitor } from '../../host/diskSpaceMonitor.ts';
import { type Log, makeLog } from '../../host/log.ts';
import type { LogLevel } from '../../host/logLevels.ts';
import { type InheritedSocket, takeSocket } from '../../host/socketActivation.ts';
import { STATUS_CHECK_MS, SystemdNotifier } from '../../host/systemdNotify.ts';
import { TlsCertificate } from '../../host/tlsCertificate.ts';
import { AccessLog } from '../../http/accessLog.ts';
import { RateLimit } from '../../http/admission/rateLimit.ts';
import { CourtServer } from '../../http/server.ts';
import { keptDatabases } from '../../store/open/keptDatabases.ts';
import { failureKind, sqliteCode } from '../../store/sqlite/errors.ts';
import { Store, type StoreEvents } from '../../store/store.ts';
import type { DataOption } from '../options/withDatabase.ts';

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
  /** Both or neither: PEM files for TLS. */
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  /** The options that were given, as flags or variables, and not left at their defaults. */
  readonly given?: readonly string[];
}

/**
 * `courtd serve`: wires the daemon together and runs it until SIGTERM or SIGINT. Where systemd has passed a socket, it
 * serves that one.
 * @returns the port, once it listens. The process exits by itself: 0 after a signal, 1 after a fatal failure.
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
  // Before anything that takes time: without it SIGHUP ends a process. SIGTERM and SIGINT may do so until requests are taken; systemd counts that
  // as a clean end, and it works at once, also in the middle of an upgrade.
  process.on('SIGHUP', () => {
    if (certificate === undefined) logger.info('SIGHUP: there is no TLS certificate to read again');
    else certificate.reload((pair) => server?.renew(pair));
  });
  process.on('uncaughtException', (error) => die(log, error, 'a fault of courtd: please report it'));
  certificate = certificateOf(options, log);
  const socket = takeSocket();
  notifier.starting();
  let isFull = false;
  const noteFull = (is: boolean) => {
    isFull = is;
  };
  const store = await Store.open(options.data, storeEvents(log, noteFull));
  const disk = new DiskSpaceMonitor(options.data, options.minFree, logger);
  const traffic = new AccessLog(logger);
  server = new CourtServer({
    gate: {
      tokens: store.tokens,
      rate: new RateLimit(options.rateLimit),
      bodyLimitBytes: options.bodyLimit,
    },
    rules: options.venue === undefined ? {} : { venue: options.venue },
    log: logger,
    traffic,
    append: (events) => store.append(events),
    connectionsPerAddress: options.connectionsPerAddress,
    pair: certificate?.pair,
  });
  let noToken: NodeJS.Timeout | undefined;
  const { address, port } = await listen(server, store, options, socket);
  const stop = async (signal: NodeJS.Signals) => {
    logger.info({ signal }, 'stopping: what was accepted is answered first');
    notifier.stopping();
    clearInterval(noToken);
    await server?.close();
    await store.close();
    disk.stop();
    certificate?.stop();
    traffic.stop();
    logger.info('stopped');
    log.exit(0);
  };
  // A second signal changes nothing: what was accepted is still being answered.
  let isStopping = false;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (!isStopping) void stop(signal);
      isStopping = true;
    });
  }
  const inherited = socket && { socket: `${socket.name}, from systemd` };
  const { data, venue = null } = options;
  logger.info(
    { host: address, port, ...inherited, tls: certificate !== undefined, data, venue },
    'listening',
  );
  if (socket !== undefined) warnOfUnused(options, socket, logger);
  tellOfKept(options.data, logger);
  notifier.ready({ status: () => status(store, isFull), proof: () => store.answers() });
  await disk.check();
  if (!store.tokens.isOpen) noToken = tellOfToken(store, logger);
  return port;
}

/** @returns what looks for a token from now on, once a second until there is one. */
function tellOfToken(store: Store, logger: Logger): NodeJS.Timeout {
  logger.warn('there is no token, so every request is answered 401: "courtd token rotate" makes one');
  const timer = setInterval(() => {
    if (!store.tokens.isOpen) return;
    clearInterval(timer);
    logger.info('there is a token now: requests with it are served');
  }, STATUS_CHECK_MS);
  return timer.unref();
}

/** Whoever moves the port in courtd.env is told where it is moved. */
function warnOfUnused({ given = [] }: ServeOptions, { name }: InheritedSocket, logger: Logger): void {
  for (const option of given.filter((option) => ['host', 'port'].includes(option))) {
    logger.warn(
      `--${option} (COURTD_${option.toUpperCase()}) is not used: ${name}, from systemd, says where to listen; ` +
        '"systemctl edit courtd.socket" changes it',
    );
  }
}

/** Restores and upgrades leave the database as it was; only a person knows when it may go. */
function tellOfKept(data: string, logger: Logger): void {
  const { names, bytes } = keptDatabases(data);
  if (names.length === 0) return;
  logger.info(
    { files: names, mib: mebibytes(bytes) },
    'older databases are kept in the data directory: remove those that nobody needs any more',
  );
}

/** One line for whoever asks systemd. */
function status(store: Store, isFull: boolean): string {
  if (isFull) return 'disk full: events are refused until there is room';
  if (!store.tokens.isOpen) return 'no token: every request is refused until "courtd token rotate" makes one';
  return 'listening';
}

/** @throws {StoreError} where its files cannot be served. */
function certificateOf({ tlsCert, tlsKey }: ServeOptions, { logger }: Log): TlsCertificate | undefined {
  if (tlsCert === undefined || tlsKey === undefined) return undefined;
  return new TlsCertificate({ cert: tlsCert, key: tlsKey }, logger);
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
    const reason = LISTEN_FAILURES[code ?? ''];
    if (reason === undefined) throw error;
    throw new OperatorError(`Cannot listen on ${host} port ${port}: ${reason}`);
  }
}

const LISTEN_FAILURES: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program has it. Stop that, or choose another port with --port.',
  EACCES: 'this user may not. Choose a port from 1024 on with --port.',
  EADDRNOTAVAIL: 'this machine does not have that address. Choose another with --host.',
  ENOTFOUND: 'that is not an address. Choose another with --host.',
};

function storeEvents(log: Log, noteFull: (isFull: boolean) => void): StoreEvents {
  const { logger } = log;
  return {
    full: (error) => {
      noteFull(true);
      logger.error(
        { code: sqliteCode(error) },
        'the disk is full: events are refused with 503 until there is room',
      );
    },
    walLarge: (bytes) =>
      logger.warn(
        { wal_mib: mebibytes(bytes) },
        'the write-ahead log cannot be cut off: another program reads the database and does not end; stop it',
      ),
    walSmall: (bytes) => logger.info({ wal_mib: mebibytes(bytes) }, 'the write-ahead log is small again'),
    upgrading: ({ doing, bytes, ...line }) =>
      logger.info({ ...line, copied_mib: mebibytes(bytes) }, UPGRADE_SENTENCES[doing]),
    healed: () => {
      noteFull(false);
      logger.info('there is room on the disk again: events are stored');
    },
    damaged: (error) => logger.error({ code: sqliteCode(error) }, PART_DAMAGED),
    unexpected: (err) => logger.error({ err }, 'a fault of courtd: please report it'),
    fatal: (error) => die(log, error, reasonOf(error)),
  };
}

const UPGRADE_SENTENCES = {
  copying: 'the database is of an older layout: it is copied aside first',
  changing: 'the database gets its new layout: events are taken when that is done',
  done: 'the database is up to date',
} as const;

/** @returns why the daemon ends, for people. */
function reasonOf(error: unknown): string {
  if (error instanceof OperatorError) return error.message;
  return failureKind(error) === 'damaged' ? DAMAGED : DISK_FAILED;
}

const DISK_FAILED =
  'the disk failed to read or write: nothing can be promised any more; check it, and start again';
const PART_DAMAGED =
  'a part of the database is damaged: requests that need it are refused with 503, all others are served; check the disk, keep a copy ' +
  'of the database, and restore a backup';
const DAMAGED =
  'the database is damaged, or the disk failed: nothing can be promised any more; check the disk and start again; ' +
  'if that does not help, keep a copy of the database and restore a backup';

function mebibytes(bytes: number): number {
  return Math.round(bytes / 1024 ** 2);
}

let isDying = false;

/** The database is not closed: what it would still write cannot be trusted (design 5). What fails after that is no news. */
function die({ logger, exit }: Log, error: unknown, message: string): void {
  if (isDying) return;
  isDying = true;
  logger.fatal(error instanceof OperatorError ? {} : { err: error, code: sqliteCode(error) }, message);
  // After the turn, so that those who wait are still told 503.
  setImmediate(() => exit(1));
}

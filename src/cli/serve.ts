import { DiskWatch } from '../host/disk.ts';
import { type Log, type LogLevel, makeLog } from '../host/log.ts';
import { RateLimit } from '../http/rate.ts';
import { CourtServer } from '../http/server.ts';
import { Traffic } from '../http/traffic.ts';
import { isDamage, StoreError, sqliteCode } from '../store/failure.ts';
import { Store, type StoreEvents } from '../store/store.ts';
import type { DataOption } from './data.ts';

export interface ServeOptions extends DataOption {
  readonly host: string;
  readonly port: number;
  readonly venue?: string;
  /** Requests a second from one address; 0: no limit. */
  readonly rateLimit: number;
  /** Bytes. */
  readonly bodyLimit: number;
  /** Bytes; 0: no warning. */
  readonly minFree: number;
  readonly logLevel: LogLevel;
}

/**
 * `courtd serve`: wires the daemon together and runs it until SIGTERM or SIGINT.
 * @returns the port, once it listens. The process exits by itself: 0 after a signal, 1 after a fatal failure.
 */
export async function serve(options: ServeOptions): Promise<number> {
  const log = makeLog(options.logLevel);
  const { logger } = log;
  process.on('uncaughtException', (error) => die(log, error, 'a fault of courtd: please report it'));
  const store = await Store.open(options.data, storeEvents(log));
  const disk = new DiskWatch(options.data, options.minFree, logger);
  const traffic = new Traffic(logger);
  const server = new CourtServer({
    gate: {
      tokens: store.tokens,
      rate: new RateLimit(options.rateLimit),
      bodyLimitBytes: options.bodyLimit,
    },
    rules: options.venue === undefined ? {} : { venue: options.venue },
    log: logger,
    traffic,
    append: (events) => store.append(events),
  });
  const port = await listen(server, store, options);
  const stop = async (signal: NodeJS.Signals) => {
    logger.info({ signal }, 'stopping: what was accepted is answered first');
    await server.close();
    await store.close();
    disk.stop();
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
  logger.info({ host: options.host, port, data: options.data, venue: options.venue ?? null }, 'listening');
  await disk.check();
  if (!store.tokens.isOpen) {
    logger.warn('there is no token, so every request is answered 401: "courtd token rotate" makes one');
  }
  return port;
}

async function listen(server: CourtServer, store: Store, { host, port }: ServeOptions): Promise<number> {
  try {
    return await server.listen({ host, port });
  } catch (error) {
    await store.close();
    const { code } = error as NodeJS.ErrnoException;
    const reason = LISTEN_FAILURES[code ?? ''];
    if (reason === undefined) throw error;
    throw new StoreError(`Cannot listen on ${host} port ${port}: ${reason}`);
  }
}

const LISTEN_FAILURES: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program has it. Stop that, or choose another port with --port.',
  EACCES: 'this user may not. Choose a port from 1024 on with --port.',
  EADDRNOTAVAIL: 'this machine does not have that address. Choose another with --host.',
  ENOTFOUND: 'that is not an address. Choose another with --host.',
};

function storeEvents(log: Log): StoreEvents {
  const { logger } = log;
  return {
    full: (error) =>
      logger.error(
        { code: sqliteCode(error) },
        'the disk is full: events are refused with 503 until there is room',
      ),
    walLarge: (bytes) =>
      logger.warn(
        { wal_mib: mebibytes(bytes) },
        'the write-ahead log cannot be cut off: another program reads the database and does not end; stop it',
      ),
    walSmall: (bytes) => logger.info({ wal_mib: mebibytes(bytes) }, 'the write-ahead log is small again'),
    upgrading: ({ doing, bytes, ...line }) =>
      logger.info({ ...line, copied_mib: mebibytes(bytes) }, UPGRADE_SENTENCES[doing]),
    healed: () => logger.info('there is room on the disk again: events are stored'),
    unexpected: (err) => logger.error({ err }, 'a fault of courtd: please report it'),
    fatal: (error) => die(log, error, isDamage(error) ? DAMAGED : DISK_FAILED),
  };
}

const UPGRADE_SENTENCES = {
  copying: 'the database is of an older layout: it is copied aside first',
  changing: 'the database gets its new layout: events are taken when that is done',
  done: 'the database is up to date',
} as const;

const DISK_FAILED =
  'the disk failed to read or write: nothing can be promised any more; check it, and start again';
const DAMAGED =
  'the database is damaged, or the disk failed: nothing can be promised any more; check the disk and start again; ' +
  'if that does not help, keep a copy of the database and restore a backup';

function mebibytes(bytes: number): number {
  return Math.round(bytes / 1024 ** 2);
}

/** The database is not closed: what it would still write cannot be trusted (design 5). */
function die({ logger, exit }: Log, error: unknown, message: string): void {
  logger.fatal({ err: error, code: sqliteCode(error) }, message);
  // After the turn, so that those who wait are still told 503.
  setImmediate(() => exit(1));
}

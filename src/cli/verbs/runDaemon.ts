import type { AddressInfo } from 'node:net';
import { SOURCES_WRITE_MS } from '../../base/limits.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { becomeOwner } from '../../base/owner.ts';
import { every } from '../../base/pause.ts';
import { courtdVersion } from '../../base/version.ts';
import { ControlServer } from '../../control/controlServer.ts';
import type { Status } from '../../health/boxStatus.ts';
import { certificateProblems } from '../../health/makeStatus.ts';
import { logProblem, problem } from '../../health/problems.ts';
import { dieOfBug, StoreWatch } from '../../health/storeWatch.ts';
import { listenFailure } from '../../host/listenFailure.ts';
import { makeLog } from '../../host/log.ts';
import { type InheritedSocket, takeSocket } from '../../host/socketActivation.ts';
import { SystemdNotifier } from '../../host/systemdNotify.ts';
import { TlsCertificate } from '../../host/tlsCertificate.ts';
import { AccessLog } from '../../http/accessLog.ts';
import { CourtServer } from '../../http/server.ts';
import { metricsText } from '../../metrics/prometheusText.ts';
import { writeRunFiles } from '../../metrics/runFiles.ts';
import { storedLookup } from '../../store/read/storedKeys.ts';
import { RefusedRequests } from '../../store/refused/refusedRequests.ts';
import { Store } from '../../store/store.ts';
import { readSources, writeSources } from '../../store/storedSources.ts';
import { Telemetry } from '../../telemetry/telemetry.ts';
import {
  boxStatus,
  type Daemon,
  type Frame,
  nightlyRetention,
  routesOf,
  type ServeOptions,
  statusLine,
} from './daemon.ts';
import { readFirstToken } from './firstToken.ts';

/**
 * `courtd serve`: wires the daemon together and runs it until SIGTERM or SIGINT. If systemd passes a socket, it
 * serves that one.
 * @returns the port, once it is listening. The process exits on its own: 0 after a signal, 1 after a fatal failure.
 * @throws {OperatorError} if the daemon cannot start, after it has stopped the parts that had started.
 */
export async function serve(options: ServeOptions): Promise<number> {
  const log = makeLog(options.logLevel);
  const notifier = new SystemdNotifier(log.logger);
  const parts = new AsyncDisposableStack();
  process.on('uncaughtException', (error) => dieOfBug(log, error));
  try {
    return await start({ options, version: courtdVersion(), log, notifier, parts });
  } catch (error) {
    // This failure says more than one that it leads to.
    await parts.disposeAsync().catch(() => {});
    if (error instanceof OperatorError) await notifier.failed(error.message);
    throw error;
  }
}

/** A fatal failure in between ends the process, and stops nothing. */
async function start(frame: Frame): Promise<number> {
  const { options, log, notifier, parts } = frame;
  let server: CourtServer | undefined;
  const certificate = startCertificate(frame, () => server);
  const socket = takeSocket();
  const addFirstToken = readFirstToken();
  becomeOwner(options.data.path);
  notifier.starting();
  const watch = new StoreWatch();
  const rejected = new RefusedRequests({
    directory: options.data,
    maxBytes: options.refusedBytes,
    warn: log.logger.warn.bind(log.logger),
  });
  const store = parts.adopt(await Store.open(options.data, watch.events(log)), (it) => it.close());
  parts.adopt(rejected, (it) => it.close());
  addFirstToken(store);
  void rejected.begin(storedLookup(store.db));
  const telemetry = new Telemetry(rejected.recent(), readSources(store));
  const keepSources = () => telemetry.keepSources((sources) => writeSources(store, sources));
  parts.defer(keepSources);
  parts.defer(every(SOURCES_WRITE_MS, keepSources));
  server = makeServer(frame, store, rejected, telemetry, certificate);
  const daemon = { ...frame, certificate, watch, store, rejected, telemetry, server };
  const address = await listen(daemon, socket);
  const startedAt = new Date().toISOString();
  const status = () => boxStatus(daemon, address, startedAt);
  const metrics = (report: Status) => metricsText(daemon, report);
  const routes = routesOf(daemon, () => metrics(status().status), status);
  const control = parts.adopt(new ControlServer(options.data, routes, log.logger), (it) => it.close());
  // Stopped first: requests that cameras have begun to send are answered.
  parts.adopt(server, (it) => it.close());
  stopOnSignals(frame);
  // Before the log line: a program that waits for the line may send a command at once.
  await control.listen();
  if (options.runDir !== undefined) {
    const texts = () => {
      const { status: report } = status();
      return { 'status.json': `${JSON.stringify(report)}\n`, 'metrics.prom': metrics(report) };
    };
    parts.defer(writeRunFiles(options.runDir, texts, log.logger));
  }
  logListening(daemon, address, socket);
  if (!parts.disposed) parts.adopt(nightlyRetention(daemon), stop);
  notifier.ready({ status: () => statusLine(daemon), check: () => store.answers() });
  // A signal may have come meanwhile, and closed the store.
  if (!parts.disposed && !store.tokens.isOpen) logProblem(log.logger, problem('no_token'));
  return address.port;
}

function stop(part: { stop(): void | Promise<void> }): void | Promise<void> {
  return part.stop();
}

/**
 * SIGTERM and SIGINT may kill the process until requests are accepted: systemd counts that as a clean exit, and it takes effect at
 * once.
 */
function stopOnSignals({ log, notifier, parts }: Frame): void {
  let isStopping = false;
  const onSignal = async (signal: NodeJS.Signals) => {
    // A second signal changes nothing: requests in progress are still being answered.
    if (isStopping) return;
    isStopping = true;
    log.logger.info({ signal }, 'stopping: requests in progress are answered first');
    const told = notifier.stopping();
    await parts.disposeAsync();
    // A message behind another one would otherwise end with this process.
    await told;
    log.logger.info('stopped');
    log.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, (name) => void onSignal(name));
}

/** Reads the certificate, and again at SIGHUP. @throws {OperatorError} if its files cannot be used. */
function startCertificate(
  { options: { tlsCert, tlsKey }, log: { logger }, parts }: Frame,
  server: () => CourtServer | undefined,
): TlsCertificate | undefined {
  let certificate: TlsCertificate | undefined;
  // Before anything slow: by default, SIGHUP kills a process.
  process.on('SIGHUP', () => {
    if (certificate === undefined) logger.info('SIGHUP is ignored: there is no TLS certificate to reload');
    else certificate.reload((keyPair) => server()?.replaceKeyPair(keyPair));
  });
  if (tlsCert === undefined || tlsKey === undefined) return undefined;
  certificate = new TlsCertificate({ cert: tlsCert, key: tlsKey }, logger, (validity) => {
    const [end] = certificateProblems(validity, Date.now());
    if (end !== undefined) logProblem(logger, end, validity);
  });
  return parts.adopt(certificate, stop);
}

function makeServer(
  { options, log: { logger }, parts }: Frame,
  store: Store,
  rejected: RefusedRequests,
  telemetry: Telemetry,
  certificate: TlsCertificate | undefined,
): CourtServer {
  const accessLog = parts.adopt(new AccessLog(logger), stop);
  return new CourtServer({
    preconditions: {
      tokens: store.tokens,
      bodyLimitBytes: options.bodyLimit,
    },
    rules: options.venue === undefined ? {} : { venue: options.venue },
    log: logger,
    accessLog,
    telemetry,
    append: (events) => store.writer.append(events),
    keepRefused: (...request) => rejected.keep(...request),
    rateLimit: options.rateLimit,
    connectionsPerAddress: options.connectionsPerAddress,
    keyPair: certificate?.keyPair,
  });
}

async function listen(
  { server, options: { host, port } }: Daemon,
  socket: InheritedSocket | undefined,
): Promise<AddressInfo> {
  try {
    return await server.listen(socket === undefined ? { host, port } : { fd: socket.fd });
  } catch (error) {
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

/** Programs wait for this line, so it is written at every level but `silent`. */
function logListening(
  { options, log, certificate }: Daemon,
  { address: host, port }: AddressInfo,
  socket: InheritedSocket | undefined,
): void {
  const isSilent = !log.logger.isLevelEnabled('fatal');
  const logger = isSilent ? log.logger : log.logger.child({}, { level: 'info' });
  const inherited = socket && { socket: `${socket.name}, from systemd` };
  const { data, venue = null } = options;
  logger.info({ host, port, ...inherited, tls: certificate !== undefined, data, venue }, 'listening');
}

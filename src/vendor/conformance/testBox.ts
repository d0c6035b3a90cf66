import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { DataDirectory } from '../../base/dataDirectory.ts';
import { BODY_BYTES, CONNECTIONS_PER_ADDRESS, RATE_PER_S } from '../../base/limits.ts';
import { makeLog } from '../../host/log.ts';
import { AccessLog } from '../../http/accessLog.ts';
import { RateLimit } from '../../http/admission/rateLimit.ts';
import { CourtServer } from '../../http/server.ts';
import { openDatabase } from '../../store/open/openDatabase.ts';
import { explain } from '../../store/open/openErrors.ts';
import { Store, type StoreEvents, UNLOGGED } from '../../store/store.ts';
import { rotateToken } from '../../store/tokens/tokens.ts';
import { Telemetry } from '../../telemetry/telemetry.ts';
import { FaultInjector } from './faultInjector.ts';
import { Recorder } from './recorder.ts';
import { LOCAL, RecordingProxy } from './recordingProxy.ts';

/** The server that cameras know, with a temporary store, behind a proxy that records and injects faults. */
export interface TestBox {
  readonly token: string;
  readonly port: number;
  readonly recorder: Recorder;
  /** Ends it; what it stored goes away. */
  close(): Promise<void>;
  /** What it stored goes away, where the process ends with it. */
  remove(): void;
}

/**
 * @param tell says what an operator must know, in a sentence.
 * @param restartMs for how long events are refused while cameras are switched off and on again; absent where they are not.
 * @throws Node's error of listen(2), such as EADDRINUSE. @throws {OperatorError} where nothing can be stored.
 */
export async function startTestBox(
  host: string,
  port: number,
  tell: (sentence: string) => void,
  restartMs?: number,
): Promise<TestBox> {
  const data = new DataDirectory(fs.mkdtempSync(path.join(os.tmpdir(), 'courtd-conformance-')));
  const remove = () => fs.rmSync(data.path, { recursive: true, force: true });
  try {
    const token = makeToken(data);
    const store = await Store.open(data, storeEvents(tell));
    const recorder = new Recorder(token);
    const server = makeServer(store);
    const daemon = await server.listen({ host: LOCAL, port: 0 });
    const faults = new FaultInjector(restartMs === undefined ? undefined : { ms: restartMs, tell });
    const proxy = new RecordingProxy(recorder, faults, daemon.port);
    const close = async () => {
      proxy.close();
      await server.close();
      await store.close();
      remove();
    };
    const bound = await proxy.listen(host, port).catch(async (error) => {
      await close();
      throw error;
    });
    return { token, port: bound, recorder, close, remove };
  } catch (error) {
    remove();
    throw error;
  }
}

function makeToken(data: DataDirectory): string {
  const db = openDatabase(data, { create: true });
  try {
    return rotateToken(db, 0, Date.now()).token;
  } finally {
    // Before the store opens it: two connections in one process would share SQLite's locks.
    db.close();
  }
}

function makeServer(store: Store): CourtServer {
  const { logger } = makeLog('silent');
  const telemetry = new Telemetry();
  return new CourtServer({
    preconditions: { tokens: store.tokens, rate: new RateLimit(RATE_PER_S), bodyLimitBytes: BODY_BYTES },
    rules: {},
    log: logger,
    accessLog: new AccessLog(logger, telemetry.refusals.byCode),
    telemetry,
    connectionsPerAddress: CONNECTIONS_PER_ADDRESS,
    append: (events) => store.append(events),
  });
}

function storeEvents(tell: (sentence: string) => void): StoreEvents {
  /** Nothing of value is stored: whatever fails for good ends it. */
  const fail = (error: unknown) => {
    const reason = explain(error, new DataDirectory(os.tmpdir()));
    tell(`courtd: ${reason instanceof Error ? reason.message : reason}`);
    process.exit(1);
  };
  return {
    ...UNLOGGED,
    full: () => tell('courtd: the disk is full: events are refused with 503 until there is room.'),
    damaged: fail,
    unexpected: fail,
    fatal: fail,
  };
}

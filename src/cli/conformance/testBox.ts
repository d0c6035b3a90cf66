import { AsyncLocalStorage } from 'node:async_hooks';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { BODY_BYTES, CONNECTIONS_PER_ADDRESS, RATE_PER_S } from '../../base/limits.ts';
import { makeLog } from '../../host/log.ts';
import { AccessLog } from '../../http/accessLog.ts';
import { RateLimit } from '../../http/admission/rateLimit.ts';
import { CourtServer } from '../../http/server.ts';
import { decodeBatch } from '../../protocol/decodeBatch.ts';
import { Problem } from '../../protocol/errors.ts';
import type { CourtEvent } from '../../protocol/event.ts';
import type { EventRules } from '../../protocol/validate.ts';
import { openDatabase } from '../../store/open/openDatabase.ts';
import { explain } from '../../store/open/openErrors.ts';
import { Store, type StoreEvents, UNLOGGED } from '../../store/store.ts';
import { rotateToken } from '../../store/tokens/tokens.ts';
import { Telemetry } from '../../telemetry/telemetry.ts';
import { say } from '../terminal/output.ts';
import type { Exchange } from './exchange.ts';
import { FaultPlan } from './faultPlan.ts';
import { type Injection, injectFault } from './injectFault.ts';
import { Recorder } from './recorder.ts';
import { digestOf, sentEvents } from './sentEvents.ts';

/** The box that cameras know, with its validation and a temporary store, which injects faults. */
export interface TestBox {
  readonly token: string;
  readonly port: number;
  readonly recorder: Recorder;
  /** Ends it; what it stored goes away. */
  close(): Promise<void>;
  /** What it stored goes away, where the process ends with it. */
  remove(): void;
}

/** @throws Node's error of listen(2), such as EADDRINUSE. @throws {OperatorError} where nothing can be stored. */
export async function startTestBox(host: string, port: number): Promise<TestBox> {
  const data = fs.mkdtempSync(path.join(os.tmpdir(), 'courtd-conformance-'));
  const remove = () => fs.rmSync(data, { recursive: true, force: true });
  try {
    const token = makeToken(data);
    const store = await Store.open(data, STORE_EVENTS);
    const recorder = new Recorder(token);
    const server = makeServer(store, recorder);
    const { port: bound } = await server.listen({ host, port });
    const close = async () => {
      await server.close();
      await store.close();
      remove();
    };
    return { token, port: bound, recorder, close, remove };
  } catch (error) {
    remove();
    throw error;
  }
}

function makeToken(data: string): string {
  const db = openDatabase(data, { create: true });
  try {
    return rotateToken(db, 0, Date.now()).token;
  } finally {
    // Before the store opens it: two connections in one process would share SQLite's locks.
    db.close();
  }
}

function makeServer(store: Store, recorder: Recorder): CourtServer {
  const plan = new FaultPlan();
  const current = new AsyncLocalStorage<Pick<Injection, 'exchange' | 'res'> | undefined>();
  const { logger } = makeLog('silent');
  return new CourtServer({
    preconditions: { tokens: store.tokens, rate: new RateLimit(RATE_PER_S), bodyLimitBytes: BODY_BYTES },
    rules: {},
    log: logger,
    accessLog: new AccessLog(logger),
    telemetry: new Telemetry(),
    connectionsPerAddress: CONNECTIONS_PER_ADDRESS,
    around: (req, res, serve) => {
      if (recorder.isFull) return current.run(undefined, serve);
      const exchange = recorder.begin(req, res, ({ status, events }) => {
        if (status === 202) plan.stored(events.map(({ key }) => key));
      });
      current.run({ exchange, res }, serve);
    },
    decode: (body, rules = {}) => {
      const { exchange } = current.getStore() ?? {};
      return exchange === undefined ? decodeBatch(body, rules) : decode(body, rules, exchange, recorder);
    },
    append: async (events) => {
      const now = current.getStore();
      const append = () => store.append(events);
      const choice = now && plan.next(now.exchange.events.map(({ key }) => key));
      if (now === undefined || choice === undefined) return append();
      return injectFault(choice, { ...now, events, append }, recorder);
    },
  });
}

/** Decodes as the real box does, and notes what is in it. */
function decode(body: Buffer, rules: EventRules, exchange: Exchange, recorder: Recorder): CourtEvent[] {
  exchange.bodyMs = Date.now();
  exchange.digest = digestOf(body);
  exchange.bodyBytes = body.length;
  exchange.isBatch = body.toString('latin1').trimStart().startsWith('[');
  try {
    const events = decodeBatch(body, rules);
    exchange.events = sentEvents(body);
    return events;
  } catch (error) {
    if (error instanceof Problem && error.code === 'invalid_event') {
      const { invalid, details } = error.members;
      const faults = details ?? invalid?.flatMap(({ issues }) => issues) ?? [];
      exchange.isEotFaulty = faults.some((fault) => fault.path === 'eot');
      const indexes = new Set(invalid?.map(({ index }) => index) ?? [0]);
      exchange.events = sentEvents(body, (index) => indexes.has(index));
    }
    throw error;
  } finally {
    recorder.counted(exchange);
  }
}

const STORE_EVENTS: StoreEvents = {
  ...UNLOGGED,
  full: () => say('courtd: the disk is full: events are refused with 503 until there is room.'),
  damaged: fail,
  unexpected: fail,
  fatal: fail,
};

/** Nothing of value is stored: whatever fails for good ends it. */
function fail(error: unknown): void {
  const reason = explain(error, os.tmpdir());
  say(`courtd: ${reason instanceof Error ? reason.message : reason}`);
  process.exit(1);
}

import { once } from 'node:events';
import http from 'node:http';
import t from 'tap';
import { DataDirectory } from '../../src/base/dataDirectory.ts';
import { BODY_BYTES, SMALL_BODY_BYTES } from '../../src/base/limits.ts';
import { makeLog } from '../../src/host/log.ts';
import { AccessLog } from '../../src/http/accessLog.ts';
import { RateLimit } from '../../src/http/admission/rateLimit.ts';
import { CourtServer } from '../../src/http/server.ts';
import { openDatabase } from '../../src/store/open/openDatabase.ts';
import { rotateToken } from '../../src/store/tokens/tokens.ts';
import { TokenVerifier } from '../../src/store/tokens/tokenVerifier.ts';
import { Telemetry } from '../../src/telemetry/telemetry.ts';
import { temporaryFolder } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';

/** The pace of large bodies, each with an event whose rules take as long to read as the test says. */

let decode: () => void = () => {};
const db = openDatabase(new DataDirectory(temporaryFolder(t)), { create: true });
const { token } = rotateToken(db, 0, Date.now());
const { logger } = makeLog('silent');
const telemetry = new Telemetry();
const accessLog = new AccessLog(logger, telemetry.refusals.byCode);
const server = new CourtServer({
  preconditions: {
    tokens: new TokenVerifier(db, (error) => {
      throw error;
    }),
    rate: new RateLimit(0),
    bodyLimitBytes: BODY_BYTES,
  },
  rules: Object.defineProperty({}, 'venue', { get: () => decode() }),
  log: logger,
  accessLog,
  telemetry,
  connectionsPerAddress: 0,
  append: async () => ({ accepted: 1, duplicates: 0, conflicts: 0 }),
});
const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
t.teardown(async () => {
  await server.close();
  accessLog.stop();
  db.close();
});

const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };

async function sendLarge(): Promise<number | undefined> {
  const request = http.request({ port, host: '127.0.0.1', path: '/v1/events', method: 'POST', headers });
  request.end(JSON.stringify(event()).padEnd(2 * SMALL_BODY_BYTES));
  const [response] = await once(request, 'response');
  response.resume();
  return response.statusCode;
}

/** Keeps the thread busy, but not the processor. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

t.test('after a large body there is a pause as long as it took: others get half of the time', async (t) => {
  const spans: { readonly from: number; readonly to: number }[] = [];
  decode = () => {
    const from = performance.now();
    block(20);
    spans.push({ from, to: performance.now() });
  };
  t.strictSame(await Promise.all([sendLarge(), sendLarge(), sendLarge()]), [202, 202, 202]);
  for (const [i, { from, to }] of spans.slice(0, -1).entries()) {
    const pauseMs = spans[i + 1]!.from - to;
    // A timer may be a millisecond early.
    t.ok(pauseMs >= to - from - 2, `${pauseMs} ms after ${to - from}`);
  }
});

t.test('large bodies that are quick to parse share a turn, but not without end', async (t) => {
  let [decoded, isNextTurn] = [0, false];
  let seen: boolean | undefined;
  decode = () => {
    decoded++;
    // The first one makes the others wait in line.
    block(decoded === 1 ? 300 : 2);
    if (decoded === 2) setImmediate(() => (isNextTurn = true));
    seen = isNextTurn;
  };
  await Promise.all(Array.from({ length: 10 }, sendLarge));
  t.equal(decoded, 10);
  t.equal(seen, true, 'something else was served before the last one');
});

import type { IncomingMessage, ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { pino } from 'pino';
import t, { type Test } from 'tap';
import {
  BODIES_IN_FLIGHT_BYTES,
  BODY_BYTES,
  BODY_QUEUE_MS,
  SMALL_BODY_BYTES,
} from '../../src/base/limits.ts';
import { AccessLog } from '../../src/http/accessLog.ts';
import { AcceptBurst } from '../../src/http/admission/acceptBurst.ts';
import { AdmissionControl } from '../../src/http/admission/admissionControl.ts';
import { RateLimit } from '../../src/http/admission/rateLimit.ts';
import type { Connection, HttpResponse } from '../../src/http/connection/connection.ts';
import type { Connections } from '../../src/http/connection/connections.ts';
import type { BodySink, PacedRequest } from '../../src/http/connection/pacedRequest.ts';
import { IngestHandler } from '../../src/http/ingestHandler.ts';
import { Problem, type ProblemCode } from '../../src/protocol/errors.ts';
import { Telemetry } from '../../src/telemetry/telemetry.ts';
import { setClock } from '../harness/clock.ts';
import { event } from '../harness/events.ts';

/** The ingest path without a network: what a connection, a store or another request has to do at the right moment. */

interface Options {
  readonly admission?: AdmissionControl;
  readonly burst?: Pick<AcceptBurst, 'ended'>;
  readonly accepts?: (token: string) => boolean;
}

function make({
  admission = new AdmissionControl(),
  burst = new AcceptBurst(),
  accepts = (token) => token === 'good',
}: Options = {}) {
  const log = pino({ enabled: false });
  const telemetry = new Telemetry();
  let appended = 0;
  const unauthorized: string[] = [];
  const handler = new IngestHandler(
    {
      preconditions: {
        tokens: { accepts, whyInvalid: () => '' },
        rate: new RateLimit(0),
        bodyLimitBytes: BODY_BYTES,
      },
      rules: {},
      log,
      accessLog: new AccessLog(log, telemetry.refusals.byCode),
      telemetry,
      append: async ({ length }) => {
        appended++;
        return { accepted: length, duplicates: 0, conflicts: 0 };
      },
    },
    admission,
    { countUnauthorized: (network: string) => unauthorized.push(network) } as unknown as Connections,
    burst as AcceptBurst,
  );
  return { handler, unauthorized, appended: () => appended };
}

/** A connection that keeps what it is given to send. */
function connect(isAuthenticated = false) {
  const given: { response?: HttpResponse; closes?: boolean } = {};
  const connection = {
    client: 'client',
    network: 'network',
    isAuthenticated,
    markAuthenticated: () => {
      connection.isAuthenticated = true;
    },
    respond: (response: HttpResponse, closes: boolean) => Object.assign(given, { response, closes }),
    respondRaw: (response: HttpResponse) => Object.assign(given, { response, closes: true }),
  };
  return { connection: connection as unknown as Connection, given };
}

/** Sends a request with a token. @returns how it was answered. */
async function ask(handler: IngestHandler, body: Buffer, more: Record<string, string> = {}) {
  const headers = {
    host: 'box',
    authorization: 'Bearer good',
    'content-type': 'application/json',
    'content-length': `${body.length}`,
    ...more,
  };
  const req = {
    headers,
    rawHeaders: Object.entries(headers).flat(),
    url: '/v1/events',
    method: 'POST',
    httpVersion: '1.1',
    countChunk: () => {},
    dropBody: () => {},
    readInto(sink: BodySink) {
      sink.add(body);
      sink.end();
    },
  };
  const { connection, given } = connect();
  const handled = handler.handle(connection, req as unknown as PacedRequest, {} as ServerResponse);
  await handled;
  return { status: given.response?.status, body: given.response?.body, closes: given.closes };
}

const small = () => Buffer.from(JSON.stringify(event()));
/** An event that is no small body. */
const large = () => Buffer.from(JSON.stringify(event({ note: 'x'.repeat(SMALL_BODY_BYTES) })));

t.test('while connections come in a burst, what they send is not parsed yet', async (t) => {
  const ended = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const burst = {
    ended: () => {
      asked.resolve();
      return ended.promise;
    },
  };
  const { handler, appended } = make({ burst });
  const answer = ask(handler, small());
  await asked.promise;
  for (let i = 0; i < 5; i++) await nextTurn();
  t.equal(appended(), 0);
  ended.resolve();
  t.match(await answer, { status: 202 });
  t.equal(appended(), 1);
});

/** Time passes only after a large body has begun to wait for its turn. */
function passWhileItWaits(t: Test, ms: number): Pick<AcceptBurst, 'ended'> {
  let looks = Number.NaN;
  setClock(t, () => (looks++ > 0 ? 1_000 + ms : 1_000));
  return {
    ended: () => {
      looks = 0;
      return undefined;
    },
  };
}

t.test(
  'a large body that has waited too long for its turn is refused, and none that waits less',
  async (t) => {
    const inTime = make({ burst: passWhileItWaits(t, BODY_QUEUE_MS) });
    t.match(await ask(inTime.handler, large()), { status: 202 });
    const late = make({ burst: passWhileItWaits(t, BODY_QUEUE_MS + 1) });
    t.match(await ask(late.handler, large()), { status: 503, body: /"overloaded"/, closes: false });
    t.equal(late.appended(), 0);
    t.match(await ask(late.handler, small()), { status: 202 }, 'a small one does not wait');
  },
);

t.test('what a body takes when it is unpacked needs room as well, and gives it back', async (t) => {
  const admission = new AdmissionControl();
  const { handler } = make({ admission });
  const packed = gzipSync(large());
  const other = admission.admit('another network', BODIES_IN_FLIGHT_BYTES);
  const gzip = { 'content-encoding': 'gzip' };
  t.match(await ask(handler, packed, gzip), { status: 503, body: /"overloaded"/ });
  other.release();
  t.match(await ask(handler, packed, gzip), { status: 202 });
  admission.admit('another network', BODIES_IN_FLIGHT_BYTES).release();
});

t.test('no events are no write', async (t) => {
  const { handler, appended } = make();
  t.match(await ask(handler, Buffer.from('[]')), { status: 202, body: '{"accepted":0,"duplicates":0}' });
  t.equal(appended(), 0);
});

t.test(
  'what counts against an address: all that comes without a valid token, but for an idle connection',
  async (t) => {
    const { handler, unauthorized } = make();
    const counts = (code: ProblemCode, isAuthenticated: boolean) => {
      const { connection, given } = connect(isAuthenticated);
      handler.rejectRaw(connection, new Problem(code, 'A sentence.'));
      t.ok(given.response, code);
      return unauthorized.splice(0).length;
    };
    t.equal(counts('unauthorized', true), 1);
    t.equal(counts('malformed_request', false), 1);
    t.equal(counts('malformed_request', true), 0);
    t.equal(counts('request_timeout', false), 0);
    for (const [authorization, counted] of [
      ['Bearer good', 0],
      ['Bearer wrong', 1],
    ] as const) {
      await ask(handler, small(), { host: 'no host', authorization });
      t.equal(unauthorized.splice(0).length, counted, `malformed, with ${authorization}`);
    }
  },
);

t.test('a fault of ours is a 500 for a CONNECT too, not the end of the daemon', (t) => {
  const { handler } = make({
    accepts: () => {
      throw new Error('a bug');
    },
  });
  const { connection, given } = connect();
  const headers = { host: 'box', authorization: 'Bearer good' };
  const req = { headers, rawHeaders: Object.entries(headers).flat(), httpVersion: '1.1' };
  handler.rejectConnect(connection, req as unknown as IncomingMessage);
  t.match(given, { response: { status: 500, body: /"internal_error"/ } });
  t.end();
});

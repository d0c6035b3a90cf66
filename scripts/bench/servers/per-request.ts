import { DataDirectory } from '../../../src/base/dataDirectory.ts';
import { BODY_BYTES } from '../../../src/base/limits.ts';
import { makeLog } from '../../../src/host/log.ts';
import { AccessLog } from '../../../src/http/accessLog.ts';
import { RateLimit } from '../../../src/http/admission/rateLimit.ts';
import { CourtServer } from '../../../src/http/server.ts';
import { Store } from '../../../src/store/store.ts';
import { Telemetry } from '../../../src/telemetry/telemetry.ts';
import { UNWATCHED } from '../unwatchedStore.ts';
import { announce } from './announce.ts';

/** courtd's own modules with a commit for each request, and nothing else changed. argv: the data directory. */
const store = await Store.open(new DataDirectory(process.argv[2]!), UNWATCHED, { groupEvents: 1 });
const log = makeLog('info').logger;
const telemetry = new Telemetry();
const accessLog = new AccessLog(log, telemetry.refusals.byCode);
const server = new CourtServer({
  preconditions: { tokens: store.tokens, rate: new RateLimit(0), bodyLimitBytes: BODY_BYTES },
  rules: {},
  connectionsPerAddress: 0,
  log,
  accessLog,
  telemetry,
  append: (events) => store.append(events),
});
const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
announce(port);
process.once('SIGTERM', async () => {
  await server.close();
  await store.close();
  process.exit(0);
});

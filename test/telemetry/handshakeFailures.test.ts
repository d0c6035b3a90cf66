import t from 'tap';
import { HandshakeFailures } from '../../src/telemetry/handshakeFailures.ts';

const HTTP = 'ERR_SSL_HTTP_REQUEST';
const HOUR_MS = 3_600_000;

t.test('an address is reported until one of its handshakes succeeds, or an hour has passed', (t) => {
  const failures = new HandshakeFailures();
  for (const at of [0, 30_000, 59_000]) {
    failures.failed('a', HTTP, at);
    failures.failed('b', at === 0 ? HTTP : undefined, at);
  }
  const told = (client: string, ago_s: number) => ({ client, reason: HTTP, times: 3, ago_s });
  t.strictSame(failures.report(59_000), [told('a', 0), told('b', 0)]);
  failures.succeeded('a');
  t.strictSame(failures.report(119_000), [told('b', 60)]);
  t.equal(failures.report(59_000 + HOUR_MS).length, 1);
  t.strictSame(failures.report(59_001 + HOUR_MS), []);
  t.equal(failures.count, 6, 'a counter only grows');
  t.end();
});

t.test('the addresses that are remembered are bounded, and one that continues to fail is among them', (t) => {
  const failures = new HandshakeFailures();
  for (let i = 0; i < 20_000; i++) {
    if (i % 100 === 0) failures.failed('camera', HTTP, i);
    failures.failed(`stranger-${i}`, undefined, i);
  }
  const told = failures.report(20_000);
  t.equal(told.length, 10_000);
  t.match(
    told.find(({ client }) => client === 'camera'),
    { times: 200 },
  );
  t.end();
});

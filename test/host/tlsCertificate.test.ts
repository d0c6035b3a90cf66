import { Writable } from 'node:stream';
import { pino } from 'pino';
import t from 'tap';
import { TlsCertificate } from '../../src/host/tlsCertificate.ts';
import { makePair } from '../harness/certificates.ts';
import { temporaryFolder } from '../harness/daemon.ts';

const DAY_MS = 86_400_000;

t.test('the end of a certificate is warned of for 30 days, and then told', async (t) => {
  const told: string[] = [];
  const lines = new Writable({
    write(chunk, _encoding, done) {
      told.push(JSON.parse(chunk).msg);
      done();
    },
  });
  const pair = makePair(temporaryFolder(t), 'box', 100);
  const certificate = new TlsCertificate(pair, pino(lines));
  t.teardown(() => certificate.stop());
  const after = (days: number) => {
    told.length = 0;
    certificate.checkExpiry(Date.now() + days * DAY_MS);
    return told.join();
  };
  t.match(told, ['TLS certificate in use']);
  t.equal(after(69), '');
  t.match(after(71), /expires soon/);
  t.match(after(99), /expires soon/);
  t.match(after(101), /has expired/);
  t.match(after(-1), /is not valid yet/, "the box's clock is behind");
});

import { Writable } from 'node:stream';
import { pino } from 'pino';
import t from 'tap';
import { certificateProblems } from '../../src/health/problems.ts';
import { TlsCertificate, type Validity } from '../../src/host/tlsCertificate.ts';
import { makePair } from '../harness/certificates.ts';
import { temporaryFolder } from '../harness/daemon.ts';

const DAY_MS = 86_400_000;

t.test('the end of a certificate is warned of for 30 days, and then told', async (t) => {
  const judged: Validity[] = [];
  const log = pino(new Writable({ write: (_chunk, _encoding, done) => done() }));
  const pair = makePair(temporaryFolder(t), 'box', 100);
  const certificate = new TlsCertificate(pair, log, (validity) => judged.push(validity));
  t.teardown(() => certificate.stop());
  t.strictSame(judged, [certificate.validity], 'at the start');
  certificate.reload(() => {});
  t.equal(judged.length, 2, 'and on reload');
  const after = (days: number) =>
    certificateProblems({ certificate: certificate.validity }, Date.now() + days * DAY_MS);
  t.strictSame(after(69), []);
  t.match(after(71), [
    { code: 'certificate_expires', level: 'warn', message: / expires in 2[89] days, at / },
  ]);
  t.match(after(99), [{ code: 'certificate_expires' }]);
  t.match(after(101), [{ code: 'certificate_expired', level: 'fail' }]);
  t.match(after(-1), [{ code: 'certificate_not_yet_valid', level: 'fail' }], "the box's clock is behind");
});

import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import type { TLSSocket } from 'node:tls';
import t, { type Test } from 'tap';
import { makePair } from '../harness/certificates.ts';
import { courtd, Daemon, type LogLine, temporaryFolder } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { RawClient, request } from '../harness/rawClient.ts';
import { speakTls, trust } from '../harness/transport.ts';

/** What is only of TLS; that all the rest holds over it too is in test/http/tls/. */

const ACCEPTED = '{"accepted":1,"duplicates":0}';
const REPLACED = 'TLS certificate in use';
const KEPT = 'the TLS certificate was not reloaded: the current one stays in use';
const FAILED = 'the TLS handshake failed';
const folder = temporaryFolder(t);

/** Sends SIGHUP. @returns the line that it leads to. */
async function reload(daemon: Daemon, msg: string): Promise<LogLine> {
  const from = daemon.log.length;
  daemon.child.kill('SIGHUP');
  return daemon.logged(msg, from);
}

function peerName({ socket }: RawClient): string | undefined {
  const { CN } = (socket as TLSSocket).getPeerCertificate().subject;
  return Array.isArray(CN) ? CN[0] : CN;
}

async function sends(t: Test, client: RawClient, daemon: Daemon, what: string): Promise<void> {
  client.send(request(daemon, { body: JSON.stringify(event()) }));
  t.equal((await client.next()).body, ACCEPTED, what);
}

t.test('with TLS', async (t) => {
  const [box, other, short] = [
    makePair(folder, 'box'),
    makePair(folder, 'other'),
    makePair(folder, 'short', 20),
  ];
  const copy = (from: typeof box) => {
    fs.copyFileSync(from.cert, served.cert);
    fs.copyFileSync(from.key, served.key);
  };
  const served = { cert: path.join(folder, 'served.crt'), key: path.join(folder, 'served.key') };
  fs.writeFileSync(served.key, '', { mode: 0o640 });
  copy(box);
  speakTls(served);
  trust(box, other, short);

  await t.test('files that cannot be served are told in a sentence with status 1', async (t) => {
    const locked = makePair(folder, 'locked', 20, 'secret');
    const bad: [cert: string, key: string, told: RegExp][] = [
      ['/no/such/file', box.key, /TLS certificate \/no\/such\/file .*--tls-cert.*does not exist/],
      [box.cert, folder, /--tls-key.*: EISDIR/],
      [box.cert, other.key, /key .* does not belong to the certificate/],
      [box.key, box.key, /PEM/],
      [box.cert, box.cert, /PEM/],
      [locked.cert, locked.key, /encrypted with a passphrase/],
    ];
    const check = async ([cert, key, told]: (typeof bad)[number]) => {
      const data = path.join(folder, 'none');
      const files = { COURTD_TLS_CERT: cert, COURTD_TLS_KEY: key };
      const { status, stdout, stderr } = await courtd(['serve', '--port', '0', '--data', data], files);
      t.strictSame({ status, stdout }, { status: 1, stdout: '' });
      t.match(stderr, told);
      t.match(stderr, /^courtd: [^\n]+\n$/);
      t.notOk(fs.existsSync(data));
    };
    await Promise.all(bad.map(check));
  });

  await t.test('who says nothing is closed in the end, and holds up no shutdown', async (t) => {
    const daemon = await Daemon.start(t);
    const closed = async () => {
      const client = net.connect(daemon.port, '127.0.0.1');
      t.teardown(() => client.destroy());
      client.resume();
      await once(client, 'close');
    };
    await closed();
    t.equal((await daemon.logged(FAILED)).code, 'ERR_TLS_HANDSHAKE_TIMEOUT');
    const client = await RawClient.connect(t, daemon);
    const silent = closed();
    await sends(t, client, daemon, 'the silent one has been accepted before');
    t.equal(await daemon.stop(), 0);
    await silent;
  });

  await t.test('SIGHUP brings the new certificate, and open connections go on', async (t) => {
    const daemon = await Daemon.start(t);
    t.match(await daemon.logged(REPLACED), {
      level: 'info',
      subject: 'CN=box',
      names: 'IP Address:127.0.0.1',
      issuer: 'self-signed',
      expires_at: /^\d{4}-\d\d-\d\dT.*Z$/,
    });
    const before = await RawClient.connect(t, daemon);
    t.equal(peerName(before), 'box');
    copy(other);
    t.equal((await reload(daemon, REPLACED)).subject, 'CN=other');
    await sends(t, before, daemon, 'on the connection that was open');
    const after = await RawClient.connect(t, daemon);
    t.equal(peerName(after), 'other');
    await sends(t, after, daemon, 'on a new one');
    t.equal((after.socket as TLSSocket).getProtocol(), 'TLSv1.3');
    fs.copyFileSync(box.cert, served.cert);
    const kept = await reload(daemon, KEPT);
    t.match(kept, { level: 'error', reason: /does not belong/ }, 'only one of the files is new');
    fs.rmSync(served.cert);
    t.match(await reload(daemon, KEPT), { reason: /does not exist/ });
    t.equal(peerName(await RawClient.connect(t, daemon)), 'other', 'the old one stays in use');
    copy(box);
    await reload(daemon, REPLACED);
    t.equal(peerName(await RawClient.connect(t, daemon)), 'box');
    const text = JSON.stringify(daemon.log);
    for (const line of fs.readFileSync(box.key, 'utf8').split('\n').slice(1, -2)) {
      t.notOk(text.includes(line), 'nothing of the key is in the log');
    }
  });

  await t.test('a certificate that ends in less than 30 days is warned of', async (t) => {
    const expires = ({ problem }: LogLine) => problem === 'certificate_expires';
    copy(short);
    const daemon = await Daemon.start(t);
    t.equal((await daemon.logged(expires)).level, 'warn');
    copy(box);
    await reload(daemon, REPLACED);
    t.equal(daemon.timesLogged(expires), 1);
    copy(short);
    const from = daemon.log.length;
    await reload(daemon, REPLACED);
    await daemon.logged(expires, from);
  });
});

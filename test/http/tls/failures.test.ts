import fs from 'node:fs';
import net from 'node:net';
import { Duplex } from 'node:stream';
import tls from 'node:tls';
import t, { type Test } from 'tap';
import type { Status } from '../../../src/health/status.ts';
import { makePair } from '../../harness/certificates.ts';
import { Daemon, temporaryFolder } from '../../harness/daemon.ts';
import { event } from '../../harness/events.ts';
import { runInProcess } from '../../harness/inProcess.ts';
import { speakTls } from '../../harness/transport.ts';

runInProcess();

/** Cameras whose TLS handshakes fail: each is a problem by its address, until it succeeds. */

const pair = makePair(temporaryFolder(t), 'box');
speakTls(pair);
const daemon = await Daemon.start(t, ['--log-level', 'debug']);

/** Sends bytes in the place of a handshake. */
async function say(localAddress: string, bytes: string): Promise<void> {
  const socket = net.connect({ port: daemon.port, host: '127.0.0.1', localAddress });
  socket.on('error', () => {});
  const isOver = new Promise((resolve) => socket.once('close', resolve));
  socket.resume().end(bytes, 'latin1');
  await isOver;
}

async function handshake(localAddress: string, options: tls.ConnectionOptions): Promise<void> {
  const socket = tls.connect({ port: daemon.port, host: '127.0.0.1', localAddress, ...options } as never);
  socket.on('error', () => {});
  const isOver = new Promise((resolve) => socket.once('close', resolve));
  socket.resume().on('secureConnect', () => socket.end());
  await isOver;
}

/** As OpenSSL's clients do: Node's say nothing, and go away. */
async function refuseCertificate(localAddress: string): Promise<void> {
  const socket = net.connect({ port: daemon.port, host: '127.0.0.1', localAddress });
  socket.on('error', () => {});
  const hello = new Duplex({ read() {}, write: (chunk, _, done) => void socket.write(chunk, () => done()) });
  const client = tls.connect({ socket: hello, maxVersion: 'TLSv1.2' });
  socket.once('data', () => socket.end(UNKNOWN_CA, 'latin1'));
  await new Promise((resolve) => socket.once('close', resolve));
  client.destroy();
}

async function told(t: Test): Promise<string[]> {
  const { stdout, stderr } = await daemon.command('status', '--json');
  t.equal(stderr, '');
  const { problems } = JSON.parse(stdout) as Status;
  return problems.filter(({ code }) => code === 'tls_handshakes').map(({ message }) => message);
}

/** An alert of TLS 1.2 that nobody encrypts: fatal, unknown_ca (RFC 5246, 7.2). */
const UNKNOWN_CA = '\x15\x03\x03\x00\x02\x02\x30';
const HELLO = '\x16\x03\x01\x02\x00\x01';
const FAILED = 'the TLS handshake failed';
const LEFT = 'the client disconnected during the TLS handshake (does it trust the certificate?)';

t.test('plain HTTP, an old version, a certificate that is refused: by address, and why', async (t) => {
  for (const [address, fail] of [
    ['127.0.7.21', (from: string) => say(from, 'POST /v1/events HTTP/1.1\r\n\r\n')],
    ['127.0.7.22', refuseCertificate],
    [
      '127.0.7.23',
      (from: string) =>
        handshake(from, { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' }),
    ],
  ] as const) {
    const logged = daemon.logged(FAILED, daemon.log.length);
    await fail(address);
    t.match(await logged, { client: address });
  }
  const messages = await told(t);
  for (const expected of [
    /^127\.0\.7\.21: .* 1 time, .*HTTP_REQUEST/,
    /^127\.0\.7\.22: .* 1 time, .*UNKNOWN_CA/,
    /^127\.0\.7\.23: .* 1 time, .*UNSUPPORTED_PROTOCOL/,
  ]) {
    t.ok(
      messages.some((message) => expected.test(message)),
      `${expected}: ${messages}`,
    );
  }
  const { stdout } = await daemon.command('metrics');
  t.match(stdout, 'courtd_tls_handshake_failures_total 3\n');
  t.match(stdout, 'courtd_problem{code="tls_handshakes",level="warn"} 3\n');
});

t.test('who goes away in the middle is told at the third time; who only tries the port, never', async (t) => {
  const leave = async (from: string, bytes: string) => {
    const logged = daemon.logged(LEFT, daemon.log.length);
    await say(from, bytes);
    await logged;
  };
  for (let i = 0; i < 3; i++) await leave('127.0.7.25', '');
  for (let i = 0; i < 2; i++) await leave('127.0.7.24', HELLO);
  t.equal((await told(t)).length, 3);
  await leave('127.0.7.24', HELLO);
  t.match((await told(t)).at(-1), /^127\.0\.7\.24: .* 3 times, .*disconnected/);
  t.match((await daemon.command('metrics')).stdout, 'courtd_tls_handshake_failures_total 6\n');
});

t.test('a handshake that succeeds ends what that address had to say, and no other', async (t) => {
  await handshake('127.0.7.21', { ca: fs.readFileSync(pair.cert) });
  t.equal((await daemon.post(event())).status, 202);
  const messages = await told(t);
  t.equal(messages.length, 3);
  t.notMatch(messages.join('\n'), '127.0.7.21');
});

import net from 'node:net';
import { Duplex } from 'node:stream';
import tls from 'node:tls';
import t from 'tap';
import { makePair } from '../../harness/certificates.ts';
import { Daemon, temporaryFolder } from '../../harness/daemon.ts';
import { event } from '../../harness/events.ts';
import { runInProcess } from '../../harness/inProcess.ts';
import { speakTls } from '../../harness/transport.ts';

runInProcess();

/** Cameras whose TLS handshakes fail: the log names each address, and why. */

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

/** As OpenSSL's clients do: Node's disconnect without an alert. */
async function refuseCertificate(localAddress: string): Promise<void> {
  const socket = net.connect({ port: daemon.port, host: '127.0.0.1', localAddress });
  socket.on('error', () => {});
  const hello = new Duplex({ read() {}, write: (chunk, _, done) => void socket.write(chunk, () => done()) });
  const client = tls.connect({ socket: hello, maxVersion: 'TLSv1.2' });
  socket.once('data', () => socket.end(UNKNOWN_CA, 'latin1'));
  await new Promise((resolve) => socket.once('close', resolve));
  client.destroy();
}

/** An alert of TLS 1.2 that nobody encrypts: fatal, unknown_ca (RFC 5246, 7.2). */
const UNKNOWN_CA = '\x15\x03\x03\x00\x02\x02\x30';
const HELLO = '\x16\x03\x01\x02\x00\x01';
const FAILED = 'the TLS handshake failed';
const LEFT = 'the client disconnected during the TLS handshake (does it trust the certificate?)';

t.test('plain HTTP, an old version, a certificate that is refused: by address, and why', async (t) => {
  for (const [address, code, fail] of [
    ['127.0.7.21', /HTTP_REQUEST/, (from: string) => say(from, 'POST /v1/events HTTP/1.1\r\n\r\n')],
    ['127.0.7.22', /UNKNOWN_CA/, refuseCertificate],
    [
      '127.0.7.23',
      /UNSUPPORTED_PROTOCOL/,
      (from: string) =>
        handshake(from, { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' }),
    ],
  ] as const) {
    const logged = daemon.logged(FAILED, daemon.log.length);
    await fail(address);
    t.match(await logged, { client: address, code });
  }
});

t.test('a client that disconnects during the handshake is logged, and the others are served', async (t) => {
  const logged = daemon.logged(LEFT, daemon.log.length);
  await say('127.0.7.24', HELLO);
  t.match(await logged, { client: '127.0.7.24' });
  t.equal((await daemon.post(event())).status, 202);
});

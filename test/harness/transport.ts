import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import tls from 'node:tls';
import type { PairFiles } from './certificates.ts';

/** How the tests speak with courtd: in the clear, unless a file of tests has said `speakTls` before it started any. */

let pair: PairFiles | undefined;

/** From now on every daemon is started with this pair, and every client of this process trusts it. */
export function speakTls(files: PairFiles): void {
  pair = files;
  trust(files);
}

/** These and no others. */
export function trust(...trusted: readonly PairFiles[]): void {
  tls.setDefaultCACertificates(trusted.map(({ cert }) => fs.readFileSync(cert, 'utf8')));
}

/** Arguments for `courtd serve`. */
export function serveArguments(): string[] {
  return pair === undefined ? [] : ['--tls-cert', pair.cert, '--tls-key', pair.key];
}

export function scheme(): 'http' | 'https' {
  return pair === undefined ? 'http' : 'https';
}

export interface Connection {
  /** What is written before it is ready is sent then. */
  readonly socket: net.Socket;
  /** Resolves when TLS is set up; in the clear, at once. */
  readonly ready: Promise<unknown>;
}

/** @returns a connection that the kernel has made. */
export async function connect(options: net.TcpNetConnectOpts): Promise<Connection> {
  const plain = net.connect(options);
  await once(plain, 'connect');
  if (pair === undefined) return { socket: plain, ready: Promise.resolve() };
  const secure = tls.connect({ socket: plain, host: '127.0.0.1' });
  // Node resets only what is TCP.
  secure.resetAndDestroy = () => {
    plain.resetAndDestroy();
    return secure;
  };
  return { socket: secure, ready: once(secure, 'secureConnect') };
}

import type { Server, ServerOptions } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { HEADERS_TIMEOUT_MS } from '../base/limits.ts';
import { http } from '../base/nodeHttp.ts';
import type { KeyPair } from '../host/tlsCertificate.ts';
import type { AccessLog } from './accessLog.ts';
import type { Connections } from './connections.ts';

/** A new secure context inherits nothing from the old one: every option must be given each time. */
export function contextOptions({ cert, key }: KeyPair) {
  return { cert, key, minVersion: 'TLSv1.2' } as const;
}

export type HttpServer = Server | https.Server;

/** @returns a server that is not listening yet: HTTPS (TLS 1.2 or newer) if there is a key pair, plain HTTP otherwise. */
export function createServer(options: ServerOptions, pair: KeyPair | undefined): HttpServer {
  if (pair === undefined) return http.createServer(options);
  return https.createServer({ ...options, ...contextOptions(pair), handshakeTimeout: HEADERS_TIMEOUT_MS });
}

/** The raw socket and the TLS socket of a connection have only their peer in common. */
function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/**
 * Follows the handshakes of connections. Node tracks a connection only once its handshake is complete, so those in progress must be
 * closed with the server.
 * @returns the raw sockets of handshakes in progress, by peer.
 */
export function followHandshakes(
  server: https.Server,
  connections: Connections,
  accessLog: AccessLog,
): ReadonlyMap<string, Socket> {
  const inProgress = new Map<string, Socket>();
  const failures = new WeakMap<Socket, string>();
  server.on('connection', (raw: Socket) => {
    const client = connections.get(raw)?.client;
    if (client === undefined) return;
    const peer = peerOf(raw);
    inProgress.set(peer, raw);
    raw.once('close', () => {
      if (inProgress.get(peer) !== raw) return;
      inProgress.delete(peer);
      accessLog.handshakeFailed(client, failures.get(raw));
    });
  });
  server.on('secureConnection', (socket: TLSSocket) => {
    const raw = inProgress.get(peerOf(socket));
    const connection = raw && connections.get(raw);
    // Reset in the meantime: it has no address any more.
    if (connection === undefined) return socket.destroy();
    inProgress.delete(peerOf(socket));
    // A client that half-closes after its request still waits for the response (server.ts). One that does so during the
    // handshake has given up, so this is not set earlier.
    socket.allowHalfOpen = true;
    connections.useTls(connection, socket);
  });
  // Before Node's own listener, which passes these to clientError, to be answered: nobody would read the answer.
  server.prependListener('tlsClientError', ({ code }: NodeJS.ErrnoException, socket: TLSSocket) => {
    const raw = inProgress.get(peerOf(socket));
    if (raw !== undefined && code !== undefined && code !== 'ECONNRESET') failures.set(raw, code);
    socket.destroy();
  });
  return inProgress;
}

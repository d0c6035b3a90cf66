import http, { type ServerOptions } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { HEADERS_TIMEOUT_MS } from '../../base/limits.ts';
import type { Connection } from './connection.ts';
import { PacedRequest } from './pacedRequest.ts';

/** A certificate, with those between it and its issuer's, and its private key: PEM. */
export interface KeyPair {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** What a context is made of. Given whole each time: a new context forgets whatever it is not told again. */
function contextOf({ cert, key }: KeyPair) {
  return { cert, key, minVersion: 'TLSv1.2' } as const;
}

export type HttpServer = http.Server<typeof PacedRequest> | https.Server<typeof PacedRequest>;

/** @returns a server that speaks TLS where there is a pair, and plain HTTP where there is none. */
export function makeServer(options: ServerOptions, pair: KeyPair | undefined): HttpServer {
  const ours = { ...options, IncomingMessage: PacedRequest };
  if (pair === undefined) return http.createServer(ours);
  return https.createServer({ ...ours, ...contextOf(pair), handshakeTimeout: HEADERS_TIMEOUT_MS });
}

/** From now on new connections get this pair; those that are open keep what they have. */
export function renew(server: HttpServer, pair: KeyPair): void {
  if (server instanceof https.Server) server.setSecureContext(contextOf(pair));
}

/** Who is at the other end: the two sockets of one TLS connection have it in common. */
function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

interface Handshake {
  readonly connection: Connection;
  /** Why it will come to nothing, in Node's words. */
  failure?: string | undefined;
}

/**
 * Connections on their way to TLS. Node's lists of connections hold them only once they are there, so they are closed
 * here: when the handshake fails or takes too long, and at shutdown.
 */
export class TlsHandshakes {
  readonly #underWay = new Map<string, Handshake>();
  readonly #onFailed: (connection: Connection, failure?: string) => void;

  /**
   * @param onReady gets the socket that the connection speaks through from now on.
   * @param onFailed is told what went wrong if it did not just go away.
   */
  constructor(
    server: https.Server,
    onReady: (connection: Connection, socket: Socket) => void,
    onFailed: (connection: Connection, failure?: string) => void,
  ) {
    this.#onFailed = onFailed;
    server.on('secureConnection', (socket: TLSSocket) => {
      const peer = peerOf(socket);
      const handshake = this.#underWay.get(peer);
      // It has been reset: it has no address any more.
      if (handshake === undefined) return socket.destroy();
      this.#underWay.delete(peer);
      // Who closes its side behind a request still waits for the answer (server.ts); who does so before has given up.
      socket.allowHalfOpen = true;
      onReady(handshake.connection, socket);
    });
    // Node would hand them to clientError, to be answered: what is written to them is never read, and none is closed.
    server.removeAllListeners('tlsClientError');
    server.on('tlsClientError', ({ code }: NodeJS.ErrnoException, socket: TLSSocket) => {
      const handshake = this.#underWay.get(peerOf(socket));
      if (handshake !== undefined && code !== 'ECONNRESET') handshake.failure = code;
      socket.destroy();
    });
  }

  begin(connection: Connection, socket: Socket): void {
    const peer = peerOf(socket);
    const handshake: Handshake = { connection };
    this.#underWay.set(peer, handshake);
    socket.once('close', () => {
      if (this.#underWay.get(peer) !== handshake) return;
      this.#underWay.delete(peer);
      this.#onFailed(connection, handshake.failure);
    });
  }

  endAll(): void {
    for (const { connection } of this.#underWay.values()) connection.destroy();
  }
}

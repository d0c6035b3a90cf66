import type { Server, ServerOptions } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { HEADERS_TIMEOUT_MS } from '../base/limits.ts';
import { http } from '../base/nodeHttp.ts';
import type { KeyPair } from '../host/tlsCertificate.ts';
import type { Connection } from './connection.ts';

/** A new secure context inherits nothing from the old one: every option must be given each time. */
function contextOptions({ cert, key }: KeyPair) {
  return { cert, key, minVersion: 'TLSv1.2' } as const;
}

export type HttpServer = Server | https.Server;

/** @returns a server that is not listening yet: HTTPS (TLS 1.2 or newer) if there is a key pair, plain HTTP otherwise. */
export function createServer(options: ServerOptions, pair: KeyPair | undefined): HttpServer {
  if (pair === undefined) return http.createServer(options);
  return https.createServer({ ...options, ...contextOptions(pair), handshakeTimeout: HEADERS_TIMEOUT_MS });
}

/** Serves this key pair to new connections; open ones keep theirs. */
export function replaceKeyPair(server: HttpServer, pair: KeyPair): void {
  if (server instanceof https.Server) server.setSecureContext(contextOptions(pair));
}

/** The raw socket and the TLS socket of a connection have only their peer in common. */
function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

interface Handshake {
  readonly connection: Connection;
  /** Node's code for why it failed. */
  failure?: string | undefined;
}

type OnFailed = (connection: Connection, failure: string | undefined) => void;

/**
 * Connections whose TLS handshake is in progress. Node tracks a connection only once its handshake is complete, so these are
 * closed here: when the handshake fails or times out, and at shutdown.
 */
export class TlsHandshakes {
  readonly #inProgress = new Map<string, Handshake>();
  readonly #onFailed: OnFailed;

  /**
   * @param onReady called with the socket that carries the decrypted stream.
   * @param onFailed called with Node's error code, or without one if the client just closed the connection.
   */
  constructor(
    server: https.Server,
    onReady: (connection: Connection, socket: Socket) => void,
    onFailed: OnFailed,
  ) {
    this.#onFailed = onFailed;
    server.on('secureConnection', (socket: TLSSocket) => {
      const peer = peerOf(socket);
      const handshake = this.#inProgress.get(peer);
      // Reset in the meantime: it has no address any more.
      if (handshake === undefined) return socket.destroy();
      this.#inProgress.delete(peer);
      // A client that half-closes after its request still waits for the response (server.ts). One that does so during the
      // handshake has given up, so this is not set earlier.
      socket.allowHalfOpen = true;
      onReady(handshake.connection, socket);
    });
    // Before Node's own listener, which passes these to clientError, to be answered: nobody would read the answer.
    server.prependListener('tlsClientError', ({ code }: NodeJS.ErrnoException, socket: TLSSocket) => {
      const handshake = this.#inProgress.get(peerOf(socket));
      if (handshake !== undefined && code !== 'ECONNRESET') handshake.failure = code;
      socket.destroy();
    });
  }

  begin(connection: Connection, socket: Socket): void {
    const peer = peerOf(socket);
    const handshake: Handshake = { connection };
    this.#inProgress.set(peer, handshake);
    socket.once('close', () => {
      if (this.#inProgress.get(peer) !== handshake) return;
      this.#inProgress.delete(peer);
      this.#onFailed(connection, handshake.failure);
    });
  }

  destroyAll(): void {
    for (const { connection } of this.#inProgress.values()) connection.socket.destroy();
  }
}

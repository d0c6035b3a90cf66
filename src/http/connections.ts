import type { Socket } from 'node:net';
import { CONNECTIONS } from '../base/limits.ts';
import type { Admission } from './admission.ts';
import { Connection } from './connection.ts';

/** The log's name for a command of this box: `courtd import` is the only one that sends events. */
const LOCAL = 'import';

/** All open connections, and the limits on opening another one. */
export class Connections {
  readonly admission: Admission;
  /** Graceful shutdown: each response from now on closes its connection. */
  isClosing = false;
  readonly #perAddress: number;
  readonly #bySocket = new WeakMap<Socket, Connection>();
  readonly open = new Set<Connection>();
  /** Connections that have never shown a valid token, the oldest first. */
  readonly #strangers = new Set<Connection>();
  readonly #counts = new Map<string, number>();

  /** @param perAddress open connections that one client address may have; 0: no limit. */
  constructor(perAddress: number, admission: Admission) {
    this.#perAddress = perAddress === 0 ? Number.POSITIVE_INFINITY : perAddress;
    this.admission = admission;
  }

  /**
   * Registers a new connection. It is closed at once if its address has too many, or if CONNECTIONS are open and all of them have
   * shown a valid token; if one has not, the oldest such connection makes room.
   */
  add(socket: Socket): void {
    const { remoteAddress } = socket;
    // An IPv4-mapped IPv6 address without its prefix (RFC 4291, 2.5.5.2); none if the connection was reset already.
    const client = remoteAddress?.replace(/^::ffff:(?=[\d.]+$)/i, '') ?? '';
    const count = this.#counts.get(client) ?? 0;
    const isFull = this.open.size >= CONNECTIONS;
    const [oldest] = isFull ? this.#strangers : [];
    const isRefused = count >= this.#perAddress || (isFull && oldest === undefined);
    if (remoteAddress === undefined || isRefused) return void socket.destroy();
    if (oldest !== undefined) {
      oldest.socket.destroy();
      this.#remove(oldest);
    }
    const connection = new Connection(socket, client, this);
    this.#bySocket.set(socket, connection);
    this.open.add(connection);
    this.#strangers.add(connection);
    this.#counts.set(client, (this.#counts.get(client) ?? 0) + 1);
    socket.once('close', () => this.#remove(connection));
  }

  /** @returns the connection of a command of this box; no limit on those of cameras counts it. */
  local(socket: Socket): Connection {
    const connection = this.#bySocket.get(socket) ?? new Connection(socket, LOCAL, this, true);
    this.#bySocket.set(socket, connection);
    return connection;
  }

  /** The TLS handshake is complete: all further traffic passes through this socket. */
  useTls(connection: Connection, socket: Socket): void {
    connection.socket = socket;
    this.#bySocket.set(socket, connection);
  }

  get(socket: Socket): Connection | undefined {
    return this.#bySocket.get(socket);
  }

  /** Whether a connection is open that has not sent a request yet: one may be on its way. */
  get hasFresh(): boolean {
    for (const { hasAsked } of this.#strangers) if (!hasAsked) return true;
    return false;
  }

  markAuthenticated(connection: Connection): void {
    connection.isAuthenticated = true;
    this.#strangers.delete(connection);
  }

  destroyAll(): void {
    for (const { socket } of this.open) socket.destroy();
  }

  #remove(connection: Connection): void {
    if (!this.open.delete(connection)) return;
    this.#strangers.delete(connection);
    const { client } = connection;
    const count = (this.#counts.get(client) ?? 1) - 1;
    if (count > 0) this.#counts.set(client, count);
    else this.#counts.delete(client);
  }
}

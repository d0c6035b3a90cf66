import type { Socket } from 'node:net';
import { CONNECTIONS, TRACKED_ADDRESSES, UNAUTHORIZED_PER_S } from '../../base/limits.ts';
import type { AdmissionControl } from '../admission/admissionControl.ts';
import { clientAddress, networkOf } from './clientAddress.ts';
import { Connection } from './connection.ts';
import { ReadTurns } from './readTurns.ts';

/** What the log calls a command of this box: `courtd import` is the only one that sends events. */
const LOCAL = 'import';

/** Unauthorized requests of one network within the second that began at `sinceMs` of the monotonic clock. */
interface UnauthorizedCount {
  readonly sinceMs: number;
  count: number;
}

/** All open connections, and the limits on opening another one. */
export class Connections {
  readonly #perNetwork: number;
  readonly #admission: AdmissionControl;
  readonly #bySocket = new WeakMap<Socket, Connection>();
  readonly #open = new Set<Connection>();
  /** Connections that have never shown a valid token, the oldest first. */
  readonly #unauthenticated = new Set<Connection>();
  readonly #counts = new Map<string, number>();
  readonly #unauthorized = new Map<string, UnauthorizedCount>();
  /** Graceful shutdown: each response from now on closes its connection. */
  isClosing = false;
  readonly turns = new ReadTurns();

  /** @param perAddress open connections that one client address may have; 0: no limit. */
  constructor(perAddress: number, admission: AdmissionControl) {
    this.#perNetwork = perAddress === 0 ? Number.POSITIVE_INFINITY : perAddress;
    this.#admission = admission;
  }

  /**
   * Registers a new connection, or closes it: where its network has too many, where its network was unauthorized more than
   * UNAUTHORIZED_PER_S times within the current second, or where CONNECTIONS are open and all of them are authenticated. Where
   * one of those is not, the oldest such connection is closed instead.
   * @returns undefined where the connection was closed.
   */
  add(socket: Socket): Connection | undefined {
    const { remoteAddress } = socket;
    // Already reset: there is nobody to answer, and no address to count it by.
    if (remoteAddress === undefined) return close(socket);
    const client = clientAddress(remoteAddress);
    const network = networkOf(client);
    const count = this.#counts.get(network) ?? 0;
    if (count >= this.#perNetwork || this.#isBlocked(network)) return close(socket);
    if (this.#open.size >= CONNECTIONS) {
      const [oldest] = this.#unauthenticated;
      if (oldest === undefined) return close(socket);
      oldest.destroy();
      this.#remove(oldest);
    }
    const connection = new Connection(socket, client, network, this.#admission, this);
    this.#bySocket.set(socket, connection);
    this.#open.add(connection);
    this.#unauthenticated.add(connection);
    this.#counts.set(network, count + 1);
    socket.once('close', () => this.#remove(connection));
    return connection;
  }

  /** Registers a connection of a command of this box; none of the limits on those of cameras counts it. */
  addLocal(socket: Socket): Connection {
    const connection = new Connection(socket, LOCAL, LOCAL, this.#admission, this, true);
    this.#bySocket.set(socket, connection);
    return connection;
  }

  /** The connection's TLS handshake is complete: `socket` carries the decrypted stream. */
  useTls(connection: Connection, socket: Socket): void {
    connection.useTls(socket);
    this.#bySocket.set(socket, connection);
  }

  get(socket: Socket): Connection | undefined {
    return this.#bySocket.get(socket);
  }

  onAuthenticated(connection: Connection): void {
    this.#unauthenticated.delete(connection);
  }

  /** Counts a request that was rejected and carried no valid token. */
  countUnauthorized(network: string): void {
    const now = performance.now();
    const known = this.#unauthorized.get(network);
    if (known !== undefined && now - known.sinceMs < 1000) {
      known.count++;
      return;
    }
    if (this.#unauthorized.size >= TRACKED_ADDRESSES) this.#unauthorized.clear();
    this.#unauthorized.set(network, { sinceMs: now, count: 1 });
  }

  destroyAll(): void {
    for (const connection of this.#open) connection.destroy();
  }

  #isBlocked(network: string): boolean {
    const known = this.#unauthorized.get(network);
    if (known === undefined || performance.now() - known.sinceMs >= 1000) return false;
    return known.count > UNAUTHORIZED_PER_S;
  }

  #remove(connection: Connection): void {
    if (!this.#open.delete(connection)) return;
    this.#unauthenticated.delete(connection);
    const { network } = connection;
    const count = (this.#counts.get(network) ?? 1) - 1;
    if (count > 0) this.#counts.set(network, count);
    else this.#counts.delete(network);
  }
}

function close(socket: Socket): undefined {
  socket.destroy();
  return undefined;
}

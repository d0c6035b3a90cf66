import type { Socket } from 'node:net';
import { CONNECTIONS, RATE_ADDRESSES, UNAUTHORIZED_PER_S } from '../../base/limits.ts';
import type { AdmissionControl } from '../admission/admissionControl.ts';
import { clientOf, networkOf } from './clientAddress.ts';
import { Connection } from './connection.ts';

/** Refusals of who has shown no valid token, within the second that began at `sinceMs` of the monotonic clock. */
interface Refusals {
  readonly sinceMs: number;
  count: number;
}

/** All open connections, and who may open another one. */
export class Connections {
  readonly #perNetwork: number;
  readonly #admission: AdmissionControl;
  readonly #bySocket = new WeakMap<Socket, Connection>();
  readonly #open = new Set<Connection>();
  /** Those that have never shown a valid token, the oldest first. */
  readonly #strangers = new Set<Connection>();
  readonly #counts = new Map<string, number>();
  readonly #refusals = new Map<string, Refusals>();
  isClosing = false;

  /** @param perAddress connections of one client address at a time; 0: no limit. */
  constructor(perAddress: number, admission: AdmissionControl) {
    this.#perNetwork = perAddress === 0 ? Number.POSITIVE_INFINITY : perAddress;
    this.#admission = admission;
  }

  /**
   * A connection has been made. The newest of too many is closed at once, and so is what comes from where many wrong tokens
   * came from a moment ago; when all places are taken, the oldest that has never shown a token makes room.
   * @returns undefined where it is closed.
   */
  arrive(socket: Socket): Connection | undefined {
    const { remoteAddress } = socket;
    // Reset already: nobody is there to be answered, and later nobody could say who it was.
    if (remoteAddress === undefined) return close(socket);
    const client = clientOf(remoteAddress);
    const network = networkOf(client);
    const count = this.#counts.get(network) ?? 0;
    if (count >= this.#perNetwork || this.#isShut(network)) return close(socket);
    if (this.#open.size >= CONNECTIONS) {
      const [oldest] = this.#strangers;
      if (oldest === undefined) return close(socket);
      oldest.destroy();
      this.#leave(oldest);
    }
    const connection = new Connection(socket, client, network, this.#admission, this);
    this.#bySocket.set(socket, connection);
    this.#open.add(connection);
    this.#strangers.add(connection);
    this.#counts.set(network, count + 1);
    socket.once('close', () => this.#leave(connection));
    return connection;
  }

  /** Its TLS is set up. */
  secured(connection: Connection, socket: Socket): void {
    connection.secured(socket);
    this.#bySocket.set(socket, connection);
  }

  of(socket: Socket): Connection | undefined {
    return this.#bySocket.get(socket);
  }

  showedToken(connection: Connection): void {
    this.#strangers.delete(connection);
  }

  /** A request was refused that came from somebody without a valid token. */
  wasRefused(network: string): void {
    const now = performance.now();
    const known = this.#refusals.get(network);
    if (known !== undefined && now - known.sinceMs < 1000) {
      known.count++;
      return;
    }
    if (this.#refusals.size >= RATE_ADDRESSES) this.#refusals.clear();
    this.#refusals.set(network, { sinceMs: now, count: 1 });
  }

  destroyAll(): void {
    for (const connection of this.#open) connection.destroy();
  }

  #isShut(network: string): boolean {
    const known = this.#refusals.get(network);
    if (known === undefined) return false;
    if (performance.now() - known.sinceMs < 1000) return known.count > UNAUTHORIZED_PER_S;
    this.#refusals.delete(network);
    return false;
  }

  #leave(connection: Connection): void {
    if (!this.#open.delete(connection)) return;
    this.#strangers.delete(connection);
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

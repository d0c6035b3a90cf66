import net from 'node:net';

/** Where courtd listens, and what it lets in. */
export interface Target {
  readonly port: number;
  /** None where it is empty. */
  readonly token: string;
}

export interface AttackOrder {
  readonly target: Target;
  readonly name: string;
  /** Requests a second, for those that have a rate. */
  readonly perSecond?: number;
}

/** It begins, and goes on until its process ends. @returns once it is in full swing. */
export type Attack = (target: Target, tally: Tally, order: AttackOrder) => Promise<void>;

/** Answers by status; `lost` is a connection that ended while an answer was owed. */
export type Tally = Record<string, number>;

export function count(tally: Tally, what: string | number, by = 1): void {
  tally[what] = (tally[what] ?? 0) + by;
}

const STATUS = /HTTP\/1\.1 (\d{3})/g;
/** One character less than what STATUS matches: a status line can come in two pieces. */
const CARRIED = 11;

/**
 * One connection, as thin as it can be: it looks at nothing of an answer but its status, so that those who send are
 * not what is measured.
 */
export class Wire {
  readonly socket: net.Socket;
  /** Answers that have not come yet; whoever sends counts them. */
  owed = 0;
  #carried = '';

  /**
   * @param from the address that it comes from: all of 127.0.0.0/8 is this machine.
   * @param onAnswer called with the status of each answer; without it nothing is ever read. Then an end is noticed by the
   * next write only.
   */
  constructor(
    target: Target,
    from: string,
    onAnswer: ((status: number) => void) | undefined,
    onClose: () => void,
  ) {
    this.socket = net.connect({
      host: '127.0.0.1',
      port: target.port,
      localAddress: from,
      noDelay: true,
      allowHalfOpen: true,
    });
    this.socket.on('error', () => {});
    this.socket.on('close', onClose);
    if (onAnswer === undefined) {
      // Before it is connected: Node would begin to read by itself.
      this.socket.pause();
      return;
    }
    this.socket.on('data', (chunk: Buffer) => {
      const text = this.#carried + chunk.toString('latin1');
      for (const [, status] of text.matchAll(STATUS)) {
        if (status === '100') continue;
        this.owed--;
        onAnswer(Number(status));
      }
      this.#carried = text.slice(-CARRIED);
    });
    this.socket.on('end', () => this.socket.end());
  }
}

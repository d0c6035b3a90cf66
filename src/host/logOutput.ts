import fs from 'node:fs';
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** Bytes that wait for a slow reader; what does not fit is lost. */
const BUFFER_BYTES = 4 * 1024 ** 2;
/** A terminal that is stopped may be made not to block by whoever shares it. */
const AGAIN_MS = 100;
const LINE_END = 0x0a;

/** Writes bytes. @returns how many were written: fewer than all of them where it failed. */
type Put = (data: Buffer) => Promise<number>;

/**
 * Writes lines to a descriptor without ever waiting for it in the thread that serves. Lines that cannot be written, as on a full
 * disk, are lost, and so are those for which a reader is too slow or gone.
 */
export class LogOutput {
  readonly #fd: number;
  readonly #onLost: (lines: number) => void;
  #put: Put | undefined;
  #lines: string[] = [];
  #bytes = 0;
  #lost = 0;
  /** Whether what was written last ends within a line. */
  #isTorn = false;
  #draining: Promise<void> | undefined;
  /** Whether a write that hangs keeps the process from exiting: Node waits for its threads. */
  holdsThread = false;

  /** @param onLost called with the number of lines that were lost, once lines can be written again. */
  constructor(fd: number, onLost: (lines: number) => void) {
    this.#fd = fd;
    this.#onLost = onLost;
  }

  /** @param line with its end. */
  write(line: string): void {
    const bytes = Buffer.byteLength(line);
    if (this.#bytes + bytes > BUFFER_BYTES) {
      this.#lost++;
      return;
    }
    this.#lines.push(line);
    this.#bytes += bytes;
    this.#draining ??= this.#drain().finally(() => {
      this.#draining = undefined;
    });
  }

  /** Resolves when every line is written, or lost. */
  async flush(): Promise<void> {
    while (this.#draining !== undefined) await this.#draining;
  }

  async #drain(): Promise<void> {
    this.#put ??= this.#open();
    while (this.#lines.length > 0) {
      const text = this.#lines.splice(0).join('');
      const head = this.#isTorn ? 1 : 0;
      const data = Buffer.from(this.#isTorn ? `\n${text}` : text);
      const written = await this.#put(data);
      this.#bytes -= data.length - head;
      if (written > 0) this.#isTorn = data[written - 1] !== LINE_END;
      this.#lost += data.subarray(Math.max(written, head)).filter((byte) => byte === LINE_END).length;
      if (written === data.length && this.#lost > 0) {
        const lines = this.#lost;
        this.#lost = 0;
        this.#onLost(lines);
      }
    }
  }

  /** A pipe or a socket is written to by the event loop, anything else by Node's threads. */
  #open(): Put {
    try {
      const socket = new net.Socket({ fd: this.#fd, readable: false, writable: true });
      socket.on('error', () => {});
      return (data) =>
        new Promise((resolve) => socket.write(data, (error) => resolve(error ? 0 : data.length)));
    } catch {
      this.holdsThread = true;
      return (data) => putFile(this.#fd, data);
    }
  }
}

async function putFile(fd: number, data: Buffer): Promise<number> {
  let written = 0;
  while (written < data.length) {
    const answer = await new Promise<number | NodeJS.ErrnoException>((resolve) =>
      fs.write(fd, data, written, (error, bytes) => resolve(error ?? bytes)),
    );
    if (typeof answer === 'number') written += answer;
    else if (answer.code === 'EAGAIN') await sleep(AGAIN_MS);
    else break;
  }
  return written;
}

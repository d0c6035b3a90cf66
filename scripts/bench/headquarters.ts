import fs from 'node:fs';
import path from 'node:path';
import { Child } from './child.ts';
import { COURTD } from './courtd.ts';

/** Prints where the server of NATS is that the tests fetch. */
const PROGRAM = path.resolve(import.meta.dirname, '../../test/harness/natsProgram.ts');

/**
 * Where a shipper sends to: a server of NATS. In a venue it is a machine of its own, elsewhere: here it writes to memory, and takes
 * only what time the others leave.
 */
export class Headquarters {
  readonly url: string;
  readonly #child: Child;
  readonly #folder: string;

  private constructor(child: Child, folder: string, url: string) {
    this.#child = child;
    this.#folder = folder;
    this.url = url;
  }

  static async start(): Promise<Headquarters> {
    const program = await new Child(process.execPath, [PROGRAM]).output();
    const folder = fs.mkdtempSync('/dev/shm/courtd-bench-');
    // It logs to standard error.
    const quietly = ['sh', '-c', 'exec "$@" 2>&1', 'sh', 'nice', '-n', '19'];
    const child = new Child(program, ['-a', '127.0.0.1', '-p', '-1', '-js', '-sd', folder], quietly);
    const port = await child.firstLine(
      (line) => /Listening for client connections on \S+:(\d+)/.exec(line)?.[1],
    );
    const url = `nats://127.0.0.1:${port}`;
    await new Child(COURTD, ['fleet', 'init', url]).output();
    return new Headquarters(child, folder, url);
  }

  async stop(): Promise<void> {
    await this.#child.stop();
    fs.rmSync(this.#folder, { recursive: true });
  }
}

import { type Cleanup, Daemon, type LogLine } from '../harness/daemon.ts';
import { giveWay } from './process.ts';

/** Many senders share an address here, as they would not in a venue. */
const ARGS = ['--rate-limit', '0'];

/** The courtd that is attacked, and the next one where an attack has ended it. */
export class Box {
  readonly #cleanup: Cleanup;
  readonly #ended: Daemon[] = [];
  #daemon: Daemon;

  private constructor(cleanup: Cleanup, daemon: Daemon) {
    this.#cleanup = cleanup;
    this.#daemon = daemon;
    giveWay(this.pid, 'courtd');
  }

  static async start(cleanup: Cleanup, data: string): Promise<Box> {
    return new Box(cleanup, await Daemon.start(cleanup, ARGS, data));
  }

  get daemon(): Daemon {
    return this.#daemon;
  }

  get pid(): number {
    return this.#daemon.child.pid!;
  }

  /** The signal or the exit status that it ended with; undefined while it runs. */
  get death(): string | undefined {
    const { signalCode, exitCode } = this.#daemon.child;
    return signalCode ?? exitCode?.toString();
  }

  /** What the log has of errors, of all of them. */
  get faults(): LogLine[] {
    const lines = [...this.#ended, this.#daemon].flatMap(({ log }) => log);
    return lines.filter(({ level }) => level === 'error' || level === 'fatal');
  }

  /** Starts it again, on the same data, where it has ended. */
  async revive(): Promise<void> {
    if (this.death === undefined) return;
    this.#ended.push(this.#daemon);
    const { data, token } = this.#daemon;
    this.#daemon = await Daemon.run(this.#cleanup, data, token, ARGS);
    giveWay(this.pid, 'courtd');
  }
}

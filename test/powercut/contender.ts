import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';

const CONTENDER = path.join(import.meta.dirname, '../../scripts/bench/contender-main.ts');

const START_MS = 60_000;

interface Target {
  readonly port: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly wording: { readonly event: string; readonly batch: readonly [string, string, string] };
}

/** A contender of the benchmark, in a process of its own. */
export class Contender {
  readonly #name: string;
  readonly #process: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly #target: Target;

  private constructor(name: string, child: ChildProcess, lines: AsyncIterator<string>, target: Target) {
    this.#name = name;
    this.#process = child;
    this.#lines = lines;
    this.#target = target;
  }

  /**
   * @param repair beforehand, as its manual says.
   * @throws {Error} where it does not start within START_MS, or is not to be repaired.
   */
  static async start(name: string, data: string, repair?: 'repair'): Promise<Contender> {
    fs.mkdirSync(data, { recursive: true });
    const args = [CONTENDER, name, data, ...(repair === undefined ? [] : [repair])];
    const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'pipe'] });
    let errors = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      errors += text;
    });
    const lines = readline.createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    // One that has lost what it needs may wait for it for ever.
    const timer = setTimeout(() => child.kill('SIGTERM'), START_MS);
    const first = await lines.next();
    clearTimeout(timer);
    if (first.done === true) throw new Error(`${name} did not start. ${errors}`);
    return new Contender(name, child, lines, JSON.parse(first.value));
  }

  event(id: string, connection: number, ns: number): string {
    const ms = Date.now();
    const values: Readonly<Record<string, string>> = {
      id,
      session: `session-${connection}`,
      court: String(connection),
      eot: new Date(ms).toISOString(),
      // InfluxDB keeps one point for a time and its tags.
      ns: `${ms}${String(ns).padStart(6, '0')}`,
      n: '500',
    };
    return this.#target.wording.event.replaceAll(/\{(\w+)\}/g, (_, placeholder) => values[placeholder]!);
  }

  /** Sends a batch. @throws {Error} where it is not accepted. */
  async post(events: readonly string[]): Promise<void> {
    const { port, path: where, headers, wording } = this.#target;
    const [open, between, close] = wording.batch;
    const body = open + events.join(between) + close;
    const answer = await fetch(`http://127.0.0.1:${port}${where}`, { method: 'POST', headers, body });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${this.#name}: ${answer.status} ${text}`);
  }

  async ids(): Promise<Set<string>> {
    this.#process.stdin!.write('\n');
    const line = await this.#lines.next();
    if (line.done === true) throw new Error(`${this.#name} ended`);
    return new Set(JSON.parse(line.value));
  }

  /** As a power cut does: it finishes nothing. */
  async kill(): Promise<void> {
    const ended = once(this.#process, 'exit');
    this.#process.stdin!.end();
    await ended;
  }
}

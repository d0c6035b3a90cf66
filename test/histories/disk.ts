import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';

const SOURCE = fileURLToPath(new URL('disk.c', import.meta.url));
const HEADERS = fileURLToPath(new URL('../../node_modules/better-sqlite3/deps/sqlite3', import.meta.url));

/** Calls that can fail. */
export type Call = 'write' | 'sync' | 'open' | 'name' | 'lock';

/**
 * Builds the disk (disk.c), unless it has been built before.
 * @returns the path of the library. @throws if there is no gcc.
 */
export function buildDisk(): string {
  const key = createHash('sha256').update(fs.readFileSync(SOURCE)).digest('hex').slice(0, 16);
  const library = path.join(os.tmpdir(), `courtd-histories-${process.getuid?.()}-${key}.so`);
  if (fs.existsSync(library)) return library;
  const partial = `${library}.${process.pid}`;
  execFileSync('gcc', ['-O2', '-shared', '-fPIC', '-I', HEADERS, '-o', partial, SOURCE, '-ldl']);
  fs.renameSync(partial, library);
  return library;
}

/** The disk of this process, which was started with it (LD_PRELOAD). */
export class Disk {
  readonly root: string;
  readonly #control: Database.Database;
  readonly #isDead: Database.Statement<[], number>;

  /** @param library as of `buildDisk`. @param root an empty directory in memory. */
  constructor(library: string, root: string) {
    this.root = root;
    this.#control = new Database(':memory:');
    this.#control.loadExtension(library);
    this.#isDead = this.#control.prepare<[], number>('SELECT disk_dead()').pluck();
    this.#tell('root', root);
  }

  /** Empties it. From now on what is chance comes from this seed. */
  begin(seed: number): void {
    this.#tell('begin', seed);
  }

  /** All that there is is durable. */
  settle(): void {
    this.#tell('settle');
  }

  /** Whatever the process does from now on has no effect. */
  kill(): void {
    this.#tell('kill');
  }

  /** As `kill`, at the nth call from now on that changes something; 0: not. @param isSync counts only those that sync. */
  killAt(nth: number, isSync: boolean): void {
    this.#tell('crash', nth, isSync ? 1 : 0);
  }

  get isDead(): boolean {
    return this.#isDead.get() === 1;
  }

  /** The power fails, after `kill`. @returns how many sectors and names were lost. */
  cut(): number {
    return this.#tell('cut') as number;
  }

  /** The next process. */
  boot(): void {
    this.#tell('boot');
  }

  /** @param isShort a write stores half of what it was given. */
  fail(call: Call, nth: number, times: number, errno: number, isShort = false): void {
    this.#tell('fault', call, nth, times, errno, isShort ? 1 : 0);
  }

  /** By how many bytes files may grow from now on. */
  leave(bytes: number): void {
    this.#tell('room', bytes);
  }

  /** No call fails any more. */
  heal(): void {
    this.#tell('heal');
  }

  /** Of every call that had an effect. */
  get digest(): string {
    return this.#tell('digest') as string;
  }

  close(): void {
    this.#tell('root', null);
    this.#control.close();
  }

  #tell(what: string, ...args: (string | number | null)[]): unknown {
    const values = args.map(() => '?').join(', ');
    return this.#control
      .prepare(`SELECT disk_${what}(${values})`)
      .pluck()
      .get(...args);
  }
}

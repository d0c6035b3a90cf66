import { createHash } from 'node:crypto';
import { once } from 'node:events';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { eventOf } from '../../../src/fleet/log/chunk.ts';
import { type Cleanup, run, start } from '../../harness/daemon.ts';
import { startPostgres } from '../../harness/postgres.ts';

const PROGRAM = path.resolve(import.meta.dirname, '../../../scripts/consumer/postgresql.ts');
/** Where it ended by itself, such as with a server of NATS that was killed. */
const RESTART_MS = 200;
/** Rows that are read at once. */
const ROWS = 20_000;

/** An event as both sides have it: its key, its seq, and its text. */
interface Row {
  readonly session_id: string;
  readonly event_id: string;
  /** PostgreSQL's bigint, as its driver gives it. */
  readonly revision: string;
  readonly seq: string;
  readonly text: string;
}

/** The reference consumer into a PostgreSQL of the test's own: started again whenever it has ended, as by systemd. */
export class Consumer {
  readonly #args: readonly string[];
  readonly #db: pg.Client;
  #child: ReturnType<typeof start> | undefined;
  #isEnding = false;
  readonly #running: Promise<void>;

  private constructor(t: Cleanup, db: pg.Client, args: readonly string[]) {
    this.#db = db;
    this.#args = args;
    t.teardown(() => this.end());
    this.#running = this.#run();
  }

  /** @param url of the NATS servers. */
  static async start(t: Cleanup, url: string): Promise<Consumer> {
    const database = await startPostgres(t);
    const db = new pg.Client({ connectionString: database });
    await db.connect();
    t.teardown(() => db.end());
    return new Consumer(t, db, [PROGRAM, url, database]);
  }

  /** Ends it in its tracks; it is started again. */
  kill(): void {
    this.#child?.kill('SIGKILL');
  }

  /** Ends it for good. */
  async end(): Promise<void> {
    this.#isEnding = true;
    this.kill();
    await this.#running;
  }

  /** Once it has ended: lets it run until it has all that there is. */
  async catchUp(): Promise<void> {
    const { status, stderr } = await run(process.execPath, [...this.#args, '--once']);
    if (status !== 0) throw new Error(stderr);
  }

  /** @returns the events that it has stored so far. */
  async count(): Promise<number> {
    const { rows } = await this.#db.query("SELECT to_regclass('court_event') AS is_made");
    if (rows[0].is_made === null) return 0;
    return Number((await this.#db.query('SELECT count(*) AS count FROM court_event')).rows[0].count);
  }

  /** @returns the SHA-256 of every key, with its seq and its event, in the order of their seqs. */
  async digest(): Promise<string> {
    const hash = createHash('sha256');
    const select = `SELECT session_id, event_id, revision, seq, event::text AS text FROM court_event
      WHERE seq > $1 ORDER BY seq LIMIT ${ROWS}`;
    for (let after = '0'; ; ) {
      const { rows } = await this.#db.query<Row>(select, [after]);
      for (const row of rows) hash.update(keyed(row));
      if (rows.length === 0) return hash.digest('hex');
      after = rows.at(-1)!.seq;
    }
  }

  async #run(): Promise<void> {
    while (!this.#isEnding) {
      const child = start(process.execPath, this.#args);
      this.#child = child;
      child.stdout.resume();
      child.stderr.resume();
      await once(child, 'close');
      if (child.signalCode === null) await sleep(RESTART_MS);
    }
  }
}

/** @returns what `digest` gives where it has stored the lines of `tail --json`, each once. */
export function digestOfRows(lines: readonly string[]): string {
  const hash = createHash('sha256');
  for (const line of lines) {
    const { seq, event } = JSON.parse(line);
    const { session_id, event_id, revision = 0 } = event;
    hash.update(
      keyed({ session_id, event_id, revision: String(revision), seq: String(seq), text: eventOf(line) }),
    );
  }
  return hash.digest('hex');
}

function keyed({ session_id, event_id, revision, seq, text }: Row): string {
  return `${JSON.stringify([session_id, event_id, revision, seq])} ${text}\n`;
}

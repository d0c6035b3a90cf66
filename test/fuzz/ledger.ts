import { createHash } from 'node:crypto';
import { courtd, type Daemon } from '../harness/daemon.ts';
import { keyOf, type WireKey } from '../harness/events.ts';
import { parseJson } from '../harness/jsonOracle.ts';

/** What must be stored, what may be, and what is. */

/** Exports that run at a time. */
const EXPORTS = 2;

export class Ledger {
  /** Every content that was sent under a key in a body that is valid. */
  readonly #contents = new Map<string, Set<string>>();
  readonly #stored = new Set<string>();

  /** Its events are stored, or may be. */
  mayHold(body: Buffer): void {
    // Not by JSON.parse: it may give members the names of others (nodejs/node#63785).
    const sent = parseJson(body.toString(), Number) as WireKey | WireKey[];
    for (const event of [sent].flat()) {
      const key = keyOf(event);
      const contents = this.#contents.get(key) ?? new Set();
      this.#contents.set(key, contents.add(digest(event)));
    }
  }

  mustHold(keys: readonly string[]): void {
    for (const key of keys) this.#stored.add(key);
  }

  holds(key: string): boolean {
    return this.#stored.has(key);
  }

  /** @throws {Error} if fewer events are stored than must be, or more than may be. */
  async count(daemon: Daemon): Promise<void> {
    const stored = (await sessionsOf(daemon)).reduce((sum, { events }) => sum + events, 0);
    if (stored < this.#stored.size || stored > this.#contents.size) {
      throw new Error(
        `${stored} events are stored: ${this.#stored.size} must be, ${this.#contents.size} may be.`,
      );
    }
  }

  /** Compares every event in the store. @throws {Error} if one is missing, or was never sent like that. */
  async compare(daemon: Daemon): Promise<void> {
    const missing = new Set(this.#stored);
    const sessions = await sessionsOf(daemon);
    const readOne = async () => {
      for (let next = sessions.pop(); next !== undefined; next = sessions.pop()) {
        for (const line of await exported(daemon, next.session_id)) {
          const event = parseJson(line, Number) as WireKey;
          const key = keyOf(event);
          missing.delete(key);
          if (!this.#contents.get(key)?.has(digest(event))) throw new Error(`Nobody sent this: ${line}`);
        }
      }
    };
    await Promise.all(Array.from({ length: EXPORTS }, readOne));
    if (missing.size > 0) throw new Error(`${missing.size} events are missing: ${[...missing].slice(0, 3)}`);
  }
}

/** The order of members, the spelling of a number and a revision of 0, which may be absent or null, make no difference. */
function digest(event: WireKey): string {
  const text = JSON.stringify(sorted({ ...event, revision: event.revision ?? 0 }));
  return createHash('sha256').update(text).digest('base64').slice(0, 16);
}

/** @returns the value with its objects as lists of members, by name. */
function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return { members: members.map(([name, member]) => [name, sorted(member)]) };
}

async function sessionsOf(daemon: Daemon): Promise<{ session_id: string; events: number }[]> {
  const { status, stdout, stderr } = await daemon.command('session', 'list', '--json');
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout);
}

async function exported({ data }: Daemon, session: string): Promise<string[]> {
  // A session's name may look like an option.
  const { status, stdout, stderr } = await courtd([
    'export',
    '--format',
    'ndjson',
    '--data',
    data,
    '--',
    session,
  ]);
  if (status !== 0) throw new Error(stderr);
  return stdout.split('\n').slice(0, -1);
}

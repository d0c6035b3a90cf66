import { createHash } from 'node:crypto';
import { canonicalOf } from '../harness/arbitraryJson.ts';
import type { Daemon } from '../harness/daemon.ts';
import { keyOf, type WireKey } from '../harness/events.ts';
import { parseJson } from '../harness/jsonOracle.ts';

/** What must be stored, what may be, and what is. */
export class Ledger {
  /** Every content that was sent under a key in a body that is valid. */
  readonly #contents = new Map<string, Set<string>>();
  readonly #stored = new Set<string>();

  /** Its events are stored, or may be. */
  mayHold(body: Buffer): void {
    const sent = parseJson(body.toString(), Number) as WireKey | WireKey[];
    for (const event of [sent].flat()) {
      const key = keyOf(event);
      this.#contents.set(key, (this.#contents.get(key) ?? new Set()).add(digest(event)));
    }
  }

  mustHold(keys: readonly string[]): void {
    for (const key of keys) this.#stored.add(key);
  }

  holds(key: string): boolean {
    return this.#stored.has(key);
  }

  /** Compares every event in the store. @throws {Error} if one is missing, is there twice, or was never sent like that. */
  async compare(daemon: Daemon): Promise<void> {
    const { status, stdout, stderr } = await daemon.command('tail', '--json', '--after', '0');
    if (status !== 0) throw new Error(stderr);
    const seen = new Set<string>();
    for (const line of stdout.split('\n').slice(0, -1)) {
      const { event } = parseJson(line, Number) as { event: WireKey };
      const key = keyOf(event);
      if (seen.has(key)) throw new Error(`It is stored twice: ${line}`);
      if (!this.#contents.get(key)?.has(digest(event))) throw new Error(`Nobody sent this: ${line}`);
      seen.add(key);
    }
    const missing = [...this.#stored].filter((key) => !seen.has(key));
    if (missing.length > 0) throw new Error(`${missing.length} events are missing: ${missing.slice(0, 3)}`);
  }
}

/** The order of members, the spelling of a number and a revision of 0, which may be absent or null, make no difference. */
function digest(event: WireKey): string {
  const text = canonicalOf({ ...event, revision: event.revision ?? 0 });
  return createHash('sha256').update(text).digest('base64').slice(0, 16);
}

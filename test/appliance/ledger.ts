import { isDeepStrictEqual } from 'node:util';
import { type CameraName, eventOf, sizeAt } from './event.ts';
import type { ShiftReport } from './shift.ts';

/** One camera's part: its events before `acknowledged` have a 202, and no other was ever finished. */
interface Account extends CameraName {
  acknowledged: number;
  /** The request after the last acknowledged one may have arrived: it is there whole, or not at all. */
  isOpen: boolean;
}

/** What the cameras know to be stored, kept apart from the box. */
export class Ledger {
  readonly #accounts = new Map<string, Account>();

  /** Takes over what a shift has seen. */
  enter({ acknowledged, isOver }: ShiftReport): void {
    for (const { session, camera, acknowledged: count } of acknowledged) {
      const account = this.#account({ session, camera });
      account.acknowledged = count;
      account.isOpen = !isOver;
    }
  }

  /** @returns where a camera goes on. */
  next(name: CameraName): number {
    return this.#account(name).acknowledged;
  }

  get sessions(): string[] {
    return [...new Set(this.#accounts.values().map(({ session }) => session))].sort();
  }

  /** @returns events that must be there. */
  count(session?: string): number {
    const accounts = this.#accounts
      .values()
      .filter((account) => (session ?? account.session) === account.session);
    return accounts.reduce((sum, account) => sum + account.acknowledged, 0);
  }

  /** @returns a copy: what was acknowledged by now. */
  copy(): Ledger {
    const copy = new Ledger();
    for (const [key, account] of this.#accounts) copy.#accounts.set(key, { ...account });
    return copy;
  }

  /**
   * Compares a session with its export.
   * @param lines the events as `courtd export --format ndjson` writes them.
   * @throws {Error} if one is missing, there twice, not as it was sent, or was never sent.
   */
  async check(session: string, lines: AsyncIterable<string> | Iterable<string>): Promise<void> {
    const stored = await readStored(session, lines);
    for (const account of this.#accounts.values()) {
      if (account.session !== session) continue;
      const seen = stored.get(account.camera) ?? new Set<number>();
      if (account.isOpen && seen.has(account.acknowledged)) {
        account.acknowledged += sizeAt(account.acknowledged);
        account.isOpen = false;
      }
      checkAccount(account, seen);
      stored.delete(account.camera);
    }
    if (stored.size > 0) throw new Error(`${session} has events of ${[...stored.keys()].join(', ')}`);
  }

  /**
   * Takes an older state of the box for true, as after `courtd restore`: of each camera there must be the first events,
   * without a hole, at least those of `least` and at most its own.
   */
  async rewind(session: string, lines: AsyncIterable<string>, least: Ledger): Promise<void> {
    const stored = await readStored(session, lines);
    for (const account of this.#accounts.values()) {
      if (account.session !== session) continue;
      const seen = stored.get(account.camera) ?? new Set<number>();
      const count = Math.max(-1, ...seen) + 1;
      if (count < least.next(account))
        throw new Error(`${nameOf(account)}: ${least.next(account) - count} are lost`);
      if (count > account.acknowledged) throw new Error(`${nameOf(account)}: ${count} were never sent`);
      account.acknowledged = count;
      checkAccount(account, seen);
    }
  }

  /** Its events are gone with a database that was replaced, on purpose. */
  forget(session: string): void {
    for (const [key, account] of this.#accounts) if (account.session === session) this.#accounts.delete(key);
  }

  #account(name: CameraName): Account {
    const key = nameOf(name);
    let account = this.#accounts.get(key);
    if (account === undefined) {
      account = { ...name, acknowledged: 0, isOpen: false };
      this.#accounts.set(key, account);
    }
    return account;
  }
}

/** @returns the numbers of the events of each camera. @throws {Error} at one that is not as it was sent, or there twice. */
async function readStored(
  session: string,
  lines: AsyncIterable<string> | Iterable<string>,
): Promise<Map<string, Set<number>>> {
  const stored = new Map<string, Set<number>>();
  for await (const line of lines) {
    const event = JSON.parse(line) as { source: string; payload: { frame: number } };
    const { source: camera, payload } = event;
    if (!isDeepStrictEqual(event, eventOf({ session, camera }, payload.frame)))
      throw new Error(`Not as sent: ${line}`);
    const seen = stored.get(camera) ?? new Set();
    stored.set(camera, seen);
    if (seen.has(payload.frame)) throw new Error(`Stored twice: ${line}`);
    seen.add(payload.frame);
  }
  return stored;
}

function checkAccount(account: Account, seen: ReadonlySet<number>): void {
  for (let n = 0; n < account.acknowledged; n++) {
    if (!seen.has(n)) throw new Error(`${nameOf(account)}: event ${n} was acknowledged and is lost`);
  }
  const surplus = seen.size - account.acknowledged;
  if (surplus > 0) throw new Error(`${nameOf(account)}: ${surplus} events are there that should not be`);
}

function nameOf({ session, camera }: CameraName): string {
  return `${session}/${camera}`;
}

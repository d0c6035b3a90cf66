import type { Arrival } from '../../src/protocol/courtEvent.ts';
import type { Epoch } from '../../src/store/db/epochs.ts';
import type { Counts } from '../../src/store/write/appender.ts';
import { isLeft, type KnownErasure, notErased } from './erasures.ts';
import type { Backup, Key, Lost, PruneRule, Request, Sent } from './known.ts';

/** What a box may hold and what it must, by its answers alone. */
export class Model {
  readonly keys = new Map<string, Key>();
  readonly requests = new Set<Request>();
  /** The event that a seq was given to, for ever. */
  readonly #seqs = new Map<number, string>();
  readonly violations: string[] = [];
  /** What was ever sent with a key. */
  readonly #ever = new Map<string, string[]>();
  readonly #prunes = new Set<PruneRule>();
  readonly erasures: KnownErasure[] = [];
  /** Backups that were made. */
  readonly backups: Backup[] = [];
  /** Epochs that were seen, the current one last. */
  readonly #epochs: string[] = [];
  /** Those of the database that was opened last. */
  #last: readonly Epoch[] = [];
  /** A restore that has begun, and may have ended. `over`: the inode of the database that it is to replace. */
  restoring: (Backup & { readonly over: number }) | undefined;
  /** A rebuild likewise. */
  rebuilding: Lost | undefined;
  /** Up to which seq a reader in the order of arrival has read. */
  tailSeq = 0;
  readonly #tailed = new Set<number>();
  /**
   * What a prune may have deleted at some time: it comes back after a power failure, or with a backup, and a reader that has passed it
   * meanwhile does not have it.
   */
  readonly #prunable = new Set<string>();

  violate(what: string): void {
    this.violations.push(what);
  }

  /** Whether there is nothing more to hold. */
  get isOver(): boolean {
    return this.violations.length > 0;
  }

  send(events: readonly Sent[], nowMs: number): Request {
    const certain = new Set<string>();
    const possible = new Set<string>();
    for (const { key } of events) {
      const known = this.keys.get(key);
      if (known?.isStored && !known.mayBeGone) certain.add(key);
      if (known !== undefined) possible.add(key);
    }
    const request: Request = { events, sentMs: nowMs, certain, possible };
    this.requests.add(request);
    for (const event of events) {
      this.#mayStore(event, request, nowMs);
      this.#ever.set(event.key, [...(this.#ever.get(event.key) ?? []), event.text]);
    }
    return request;
  }

  #mayStore({ key, family, revision, text }: Sent, by: Request, nowMs: number): void {
    let known = this.keys.get(key);
    if (known === undefined) {
      const receivedMs = { least: nowMs, most: nowMs };
      known = { family, revision, isStored: false, mayBeGone: false, texts: [], seq: undefined, receivedMs };
      this.keys.set(key, known);
    }
    if (known.isStored && !known.mayBeGone) return;
    if (known.texts.some((one) => one.by === by && one.text === text)) return;
    known.texts.push({ text, by });
    known.receivedMs.least = Math.min(known.receivedMs.least, nowMs);
    known.receivedMs.most = Math.max(known.receivedMs.most, nowMs + 1);
    for (const rule of this.#prunes) this.#markPrunable(rule);
  }

  /** A 202. */
  acknowledged(request: Request, { accepted, duplicates, conflicts }: Counts): void {
    this.requests.delete(request);
    const { events } = request;
    if (accepted + duplicates !== events.length || conflicts > duplicates) {
      this.violate(
        `${events.length} events: ${accepted} accepted, ${duplicates} duplicates, ${conflicts} conflicts`,
      );
    }
    const seen = new Set<string>();
    let [least, most] = [0, 0];
    for (const { key } of events) {
      const known = this.keys.get(key);
      const isRepeated = seen.has(key);
      if (isRepeated || (request.certain.has(key) && known?.mayBeGone === false)) least++;
      if (isRepeated || request.possible.has(key)) most++;
      seen.add(key);
    }
    if (duplicates < least || duplicates > most) {
      this.violate(
        `${duplicates} of ${events.length} events are called duplicates, where ${least} to ${most} are`,
      );
    }
    for (const { key } of events) {
      const known = this.keys.get(key)!;
      known.isStored = true;
      if (this.#prunes.size === 0) known.mayBeGone = false;
    }
  }

  /** An answer that says that nothing is stored. */
  refused(request: Request): void {
    this.requests.delete(request);
    for (const { key } of request.events) {
      const known = this.keys.get(key);
      if (known === undefined) continue;
      known.texts = known.texts.filter(({ by }) => by !== request);
      if (known.texts.length === 0) this.keys.delete(key);
    }
  }

  pruneBegins(rule: PruneRule): void {
    this.#prunes.add(rule);
    this.#markPrunable(rule);
    // What was a duplicate as it was sent may be stored again.
    for (const request of this.requests)
      for (const event of request.events) this.#mayStore(event, request, request.sentMs);
  }

  /** @param isDone it came to its end: what is old is gone, unless the power fails. */
  pruneEnded(rule: PruneRule): void {
    this.#prunes.delete(rule);
  }

  /** The process has ended: what it had not answered is not known. */
  crashed(): void {
    this.#prunes.clear();
  }

  /** Events at whose receipt the clock cannot have been right are deleted with their neighbours. */
  #markPrunable({ beforeMs, nowMs, hold }: PruneRule): void {
    const old = new Map<string, number>();
    for (const [key, known] of this.keys) {
      const { least } = known.receivedMs;
      if (least >= beforeMs && least <= nowMs) continue;
      // The copy has it, so its seq is known.
      const isShipped = known.seq !== undefined && known.seq <= (hold?.afterSeq ?? 0);
      if (hold !== undefined && !isShipped && least >= hold.beforeMs && least <= nowMs) continue;
      known.mayBeGone = true;
      this.#prunable.add(key);
      old.set(known.family, Math.max(old.get(known.family) ?? 0, known.revision));
    }
    for (const [key, known] of this.keys) {
      if (known.revision >= (old.get(known.family) ?? 0)) continue;
      known.mayBeGone = true;
      this.#prunable.add(key);
    }
  }

  /** A reader has seen this event in the order of arrival: it is on disk. */
  tailed({ seq }: Arrival, sent: Sent): void {
    if (seq <= this.tailSeq)
      this.violate(`seq ${seq} comes after ${this.tailSeq} to a reader in order of arrival`);
    this.tailSeq = seq;
    this.#tailed.add(seq);
    this.#seqIs(seq, sent.key);
    const known = this.keys.get(sent.key);
    if (known === undefined || !this.#isOneOf(known, sent)) {
      return this.violate(`${sent.key} is read, which nobody sent like that`);
    }
    known.isStored = true;
    known.seq = seq;
  }

  /** What somebody reads of all that is stored, while the daemon runs. */
  seen(stored: readonly { readonly sent: Sent; readonly arrival: Arrival }[]): void {
    const present = new Set<string>();
    for (const { sent, arrival } of stored) {
      present.add(sent.key);
      this.shipped(arrival, sent);
    }
    for (const key of this.certain())
      if (!present.has(key)) this.violate(`${key} was acknowledged, and nobody can read it`);
  }

  /** Whether a reader that has read this far must have it. */
  isShippable(key: string): boolean {
    return !this.#prunable.has(key);
  }

  /** A copy or another reader has it, so it is on disk. */
  shipped({ seq }: Pick<Arrival, 'seq'>, sent: Sent): void {
    this.#seqIs(seq, sent.key);
    const known = this.keys.get(sent.key);
    const texts = this.#ever.get(sent.key) ?? [];
    if (!texts.some((text) => isLeft(text, sent.text, this.erasures))) {
      return this.violate(`${sent.key} is read, which nobody sent like that`);
    }
    // A prune may have deleted it, since it was sent there.
    if (known === undefined) return;
    known.isStored = true;
    known.seq = seq;
  }

  /** What a backup that begins now has at least. */
  certain(): ReadonlySet<string> {
    return new Set(
      [...this.keys].filter(([, { isStored, mayBeGone }]) => isStored && !mayBeGone).map(([key]) => key),
    );
  }

  /** What a backup that ends now has at most. */
  backedUp(file: string, certain: ReadonlySet<string>): void {
    const possible = new Map(
      [...this.keys].map(([key, known]) => [key, { ...known, texts: [...known.texts] }]),
    );
    this.backups.push({ file, certain, possible });
  }

  /** A backup has taken the place of the database: what came later is gone, and its seqs are given again. @param upToSeq to which both have the same log. */
  #restored({ certain, possible }: Backup, upToSeq: number): void {
    this.keys.clear();
    for (const [key, known] of possible) {
      const isCertain = certain.has(key);
      this.keys.set(key, {
        ...known,
        isStored: isCertain,
        mayBeGone: known.mayBeGone || !isCertain,
        texts: [...known.texts],
      });
    }
    for (const seq of this.#seqs.keys()) if (seq > upToSeq) this.#seqs.delete(seq);
    for (const seq of this.#tailed) if (seq > upToSeq) this.#tailed.delete(seq);
    this.tailSeq = Math.min(this.tailSeq, upToSeq);
    this.requests.clear();
    this.restoring = undefined;
  }

  /** The box was rebuilt: it has what its copy had, and knows nothing else. */
  #rebuilt({ possible, certain, erasedBeforeNs }: Lost): void {
    this.keys.clear();
    for (const [key, lines] of possible) {
      const { sent, seq } = lines.at(-1)!;
      const times = lines.map(({ receivedMs }) => receivedMs);
      const isStored = certain.has(key);
      this.keys.set(key, {
        family: sent.family,
        revision: sent.revision,
        isStored,
        mayBeGone: !isStored,
        texts: lines.map(({ sent }) => ({ text: sent.text, by: undefined })),
        seq,
        receivedMs: { least: Math.min(...times), most: Math.max(...times) },
      });
    }
    // Seqs of what was not copied are given again; a reader of those begins again.
    this.#seqs.clear();
    this.#tailed.clear();
    this.tailSeq = 0;
    for (const erasure of this.erasures) {
      const beforeNs = erasedBeforeNs(erasure.player);
      erasure.hasEnded &&= beforeNs !== undefined && beforeNs >= BigInt(erasure.nowMs) * 1_000_000n;
    }
    this.requests.clear();
  }

  /** A database that has been opened says which log of arrivals it has: a restore, and nothing else, begins another one. */
  epochsAre(epochs: readonly Epoch[]): void {
    const { name } = epochs.at(-1)!;
    const isNew = !this.#epochs.includes(name);
    if (isNew && this.#epochs.length > 0) {
      if (this.rebuilding !== undefined) this.#rebuilt(this.rebuilding);
      else if (this.restoring !== undefined) this.#restored(this.restoring, sharedUpTo(this.#last, epochs));
      else this.violate(`the epoch ${name} began, and nothing was restored`);
    } else if (!isNew && (name !== this.#epochs.at(-1) || this.rebuilding !== undefined))
      this.violate(`the epoch ${name} has come back`);
    if (isNew) this.#epochs.push(name);
    this.#last = epochs;
    // It was killed before it had replaced anything.
    this.restoring = undefined;
    this.rebuilding = undefined;
  }

  #isOneOf({ texts }: Key, { text }: Sent): boolean {
    return texts.some((one) => isLeft(one.text, text, this.erasures));
  }

  #seqIs(seq: number, key: string): void {
    const other = this.#seqs.get(seq);
    if (other !== undefined && other !== key)
      this.violate(`seq ${seq} was that of ${other} and is that of ${key}`);
    this.#seqs.set(seq, key);
  }

  /**
   * What is on disk after a start, all of it synced: the outcome of every request is now known.
   * @param stored in the order of arrival.
   */
  found(stored: readonly { readonly sent: Sent; readonly arrival: Arrival }[]): void {
    const present = new Set<string>();
    let before = 0;
    for (const { sent, arrival } of stored) {
      if (present.has(sent.key)) this.violate(`${sent.key} is stored twice`);
      if (arrival.seq <= before) this.violate(`seq ${arrival.seq} follows ${before}`);
      before = arrival.seq;
      present.add(sent.key);
      this.#seqIs(arrival.seq, sent.key);
      const known = this.keys.get(sent.key);
      if (known === undefined) this.violate(`${sent.key} is stored, which was refused or never sent`);
      else this.#isAs(known, sent, arrival);
      if (arrival.seq <= this.tailSeq && !this.#tailed.has(arrival.seq) && !this.#prunable.has(sent.key)) {
        this.violate(`seq ${arrival.seq} is stored, which a reader in order of arrival has passed`);
      }
    }
    for (const request of this.requests) this.#isWhole(request, present);
    this.requests.clear();
    for (const [key, known] of this.keys) {
      if (present.has(key)) continue;
      if (known.isStored && !known.mayBeGone) this.violate(`${key} was acknowledged and is lost`);
      this.keys.delete(key);
    }
  }

  #isAs(known: Key, sent: Sent, { seq, receivedMs }: Arrival): void {
    const { key, text } = sent;
    if (!this.#isOneOf(known, sent)) this.violate(`${key} is not as it was sent`);
    const player = notErased(text, sent.eotMs, this.erasures);
    if (player !== undefined) this.violate(`${key} names ${player}, who was erased`);
    const { least, most } = known.receivedMs;
    if (receivedMs < least || receivedMs > most)
      this.violate(`${key} was received at ${receivedMs}, not ${least} to ${most}`);
    // As it was sent, if that is known: an erasure may take more of it.
    known.texts = [
      { text: known.texts.find((one) => isLeft(one.text, text, this.erasures))?.text ?? text, by: undefined },
    ];
    known.receivedMs = { least: receivedMs, most: receivedMs };
    known.seq = seq;
    known.isStored = true;
    known.mayBeGone = false;
  }

  /** All or nothing: of an unanswered request whose events only it has sent. */
  #isWhole({ events, possible }: Request, present: ReadonlySet<string>): void {
    const own = events.filter(({ key }) => !possible.has(key) && this.keys.get(key)?.mayBeGone === false);
    const there = own.filter(({ key }) => present.has(key)).length;
    if (there > 0 && there < own.length)
      this.violate(`${there} of ${own.length} events of a request are stored`);
  }
}

/** @returns up to which seq two logs are the same one: a backup may be from before the one that was restored last. */
function sharedUpTo(one: readonly Epoch[], other: readonly Epoch[]): number {
  const apart = other.findIndex(({ name }, i) => name !== one[i]?.name);
  return Math.min(...[one[apart], other[apart]].map((epoch) => epoch?.fromSeq ?? Number.POSITIVE_INFINITY));
}

import fs from 'node:fs';
import path from 'node:path';
import type { DataDirectory } from '../../src/base/dataDirectory.ts';
import { OperatorError } from '../../src/base/operatorError.ts';
import { pause } from '../../src/base/pause.ts';
import { CopyFollower, type CopyState, ForeignCopy } from '../../src/store/keep/follow.ts';
import { restoreDatabase } from '../../src/store/keep/restoreDatabase.ts';
import { readErasures } from '../../src/store/write/ledger.ts';
import { Redactor } from '../../src/store/write/redactor.ts';
import { readStored } from './check.ts';
import type { Disk } from './disk.ts';
import { notErased } from './erasures.ts';
import { sentOf } from './events.ts';
import type { Lost } from './known.ts';
import type { Model } from './model.ts';
import TrackedDatabase from './standIns/sqlite.ts';

const RETRY_MS = 2_000;

/** A copy of the box on a stick: what it has said that it has, and what a restore of it must find. */
export class Copy {
  readonly #file: string;
  readonly #disk: Disk;
  readonly #model: Model;
  /** What the box knows to be copied. */
  known: { readonly epoch: string; readonly seq: number } | undefined;
  /** Keys of the events that it has said to have. */
  readonly #certain = new Set<string>();

  constructor(disk: Disk, model: Model) {
    const place = path.join(disk.root, 'stick');
    this.#file = path.join(place, 'courtd.db');
    this.#disk = disk;
    this.#model = model;
    fs.mkdirSync(place);
  }

  /** Keeps it current. @param once ends when it is. @returns why it is not current when it ends. */
  async follow(directory: DataDirectory, once: boolean, signal: AbortSignal): Promise<Error | undefined> {
    const follower = new CopyFollower(directory, path.dirname(this.#file));
    for (;;) {
      const error = await follower
        .round((state) => this.#has(state, directory))
        .then(() => undefined, operatorError);
      if (signal.aborted || error instanceof ForeignCopy || (once && error === undefined)) return error;
      await pause(RETRY_MS, signal);
    }
  }

  /** Whether a box can be made of it. */
  get hasEvents(): boolean {
    return [...this.#certain].some((key) => this.#model.isShippable(key));
  }

  /** Rebuilds the box that was lost. */
  async rebuild(directory: DataDirectory): Promise<void> {
    this.#model.rebuilding = this.#lost();
    await restoreDatabase(directory, this.#newest);
  }

  /** Once it is current: it has what the box has, and nobody who was erased. */
  check(directory: DataDirectory): void {
    const own = readStored(directory.file('database'), this.#model, true) ?? [];
    const copied = readStored(this.#file, this.#model, false) ?? [];
    for (const arrival of copied) {
      const sent = sentOf(arrival);
      this.#model.shipped(arrival, sent);
      const player = notErased(sent.text, sent.eotMs, this.#model.erasures);
      if (player !== undefined) this.#model.violate(`the copy names ${player}, who was erased`);
    }
    const seqs = (arrivals: typeof own) => arrivals.map(({ seq }) => seq).join();
    if (seqs(copied) !== seqs(own))
      this.#model.violate(`the copy has ${seqs(copied)}, and the box ${seqs(own)}`);
  }

  #has({ epoch, seq }: CopyState, directory: DataDirectory): void {
    if (this.#disk.isDead) return;
    if (this.known?.epoch !== epoch) this.#certain.clear();
    this.known = { epoch, seq };
    for (const arrival of readStored(directory.file('database'), this.#model, true) ?? [])
      if (arrival.seq <= seq) this.#certain.add(sentOf(arrival).key);
  }

  /** The file with what is known to be copied: the one set aside for a new epoch, until the new copy says what it has. */
  get #newest(): string {
    const aside = path.join(path.dirname(this.#file), `courtd-${this.known?.epoch}.db`);
    return fs.existsSync(aside) ? aside : this.#file;
  }

  #lost(): Lost {
    const db = new TrackedDatabase(this.#newest);
    try {
      const ledger = new Redactor(readErasures(db));
      const possible: Lost['possible'] = new Map();
      for (const arrival of readStored(this.#newest, this.#model, false) ?? []) {
        const sent = sentOf(arrival);
        possible.set(sent.key, [{ sent, seq: arrival.seq, receivedMs: arrival.receivedMs }]);
      }
      return {
        possible,
        certain: new Set([...this.#certain].filter((key) => this.#model.isShippable(key))),
        erasedBeforeNs: (player) => ledger.find(player)?.beforeNs,
      };
    } finally {
      db.close();
    }
  }
}

/** @returns what an operator would read. @throws what is a bug. */
function operatorError(error: unknown): OperatorError {
  if (error instanceof OperatorError) return error;
  throw error;
}

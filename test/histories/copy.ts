import fs from 'node:fs';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { DataDirectory } from '../../src/base/dataDirectory.ts';
import { type BoxFile, erasureOf } from '../../src/fleet/copy/boxFile.ts';
import type { CopyCursor } from '../../src/fleet/copy/copyCursor.ts';
import { findCopy } from '../../src/fleet/copy/copyFiles.ts';
import { Shipper } from '../../src/fleet/copy/copyShipper.ts';
import { DirectorySink } from '../../src/fleet/copy/directorySink.ts';
import type { Piece } from '../../src/fleet/copy/eventFeed.ts';
import { LocalFeed } from '../../src/fleet/copy/localFeed.ts';
import { rebuildBox } from '../../src/fleet/rebuild/rebuildBox.ts';
import { decodeBatch } from '../../src/protocol/decodeBatch.ts';
import { ErasedPlayers } from '../../src/store/erasure/ledger.ts';
import type { Epoch } from '../../src/store/layout/epochs.ts';
import type { Disk } from './disk.ts';
import { notErased } from './erasures.ts';
import { sentOf } from './events.ts';
import { type Logs, missingIn, type Route } from './headquarters.ts';
import type { Lost, Sent } from './known.ts';
import type { Model } from './model.ts';

/** An event that the shipper has read from the box. */
interface Line {
  readonly sent: Sent;
  readonly seq: number;
  readonly receivedMs: number;
}

const BOX = 'box';
/** Of a file that the power has cut off, say. */
const NOTHING_MISSING = { allowHoles: false, onEvents: () => {}, onMissing: () => {} };

/** A copy of the box in a directory: what was written to it, what it has said that it has, and what a rebuild must find in it. */
export class Copy {
  readonly root: string;
  readonly #folder: string;
  readonly #disk: Disk;
  readonly #model: Model;
  /** By epoch: all that may be in it, an event once as it was sent and once as an erasure has left it. */
  readonly #read = new Map<string, Line[]>();
  /** What the box knows to be copied. */
  known: { readonly epoch: string; readonly shipped_seq: number } | undefined;
  /** Of each epoch, up to which seq it has said to be durable. */
  readonly #acknowledged = new Map<string, number>();

  constructor(disk: Disk, model: Model) {
    this.root = path.join(disk.root, 'stick');
    this.#folder = path.join(this.root, BOX);
    this.#disk = disk;
    this.#model = model;
    fs.mkdirSync(this.root);
  }

  /** Where a shipper of the box writes, and where it reads. */
  open(directory: DataDirectory): Route {
    const feed = new WatchedFeed(directory, (piece) => this.#reads(piece));
    const target = { root: this.root, box: BOX, url: `file://${this.root}` };
    const sink = new WatchedSink(target, feed, (cursor) => this.#has(cursor));
    const nothing = () => {};
    return async (once, signal) => {
      const options = { box: BOX, url: target.url, once, signal, onReport: nothing, onLeftOut: nothing };
      try {
        return await new Shipper(feed, sink, options).run();
      } finally {
        await feed.close();
      }
    };
  }

  /** Whether a box can be made of it. */
  get hasEvents(): boolean {
    return [...this.#acknowledged].some(([epoch, upTo]) =>
      this.#read.get(epoch)?.some(({ seq, sent }) => seq <= upTo && this.#model.isShippable(sent.key)),
    );
  }

  /** Makes the box anew that was lost. */
  async rebuild(directory: DataDirectory): Promise<void> {
    this.#model.rebuilding = this.#lost();
    await rebuildBox(directory, await findCopy([this.#folder]), NOTHING_MISSING);
  }

  /**
   * Once the shipper has caught up: it has what the box has, in its order, and nobody who was erased, unless another erasure of him has
   * begun since and not ended: the box tells nobody of an entry of its ledger that is not finished.
   */
  check(epochs: readonly Epoch[], seqs: readonly number[]): void {
    const { erasures } = this.#model;
    const told = erasures.filter(({ player }) => erasures.findLast((one) => one.player === player)!.hasEnded);
    const logs: Logs = new Map();
    for (const [i, { name }] of epochs.entries()) {
      const files = filesOf(path.join(this.#folder, name));
      const chunks = files.map((file) => {
        const lines = gunzipSync(fs.readFileSync(file)).toString().split('\n').slice(0, -1);
        return { after: 0, last: JSON.parse(lines.at(-1)!).seq as number, lines };
      });
      logs.set(name, chunks);
      let before = 0;
      for (const text of chunks.flatMap(({ lines }) => lines)) {
        const { seq, sent } = lineOf(text);
        if (seq <= before) this.#model.violate(`in the copy seq ${seq} follows ${before}`);
        before = seq;
        if (seq <= takenBackAfter(epochs, i)) this.#model.shipped({ seq }, sent);
        const player = notErased(sent.text, sent.eotMs, told);
        if (player !== undefined) this.#model.violate(`the copy names ${player}, who was erased`);
      }
    }
    const missing = missingIn(logs, epochs, seqs);
    if (missing !== undefined) this.#model.violate(`the copy ${missing}`);
  }

  #reads({ epoch, lines }: Piece): void {
    // A process that was killed may see what is not on the disk.
    if (this.#disk.isDead) return;
    const read = lines.map(lineOf);
    for (const line of read) this.#model.shipped(line, line.sent);
    this.#read.set(epoch, [...(this.#read.get(epoch) ?? []), ...read]);
  }

  #has({ epoch, seq }: CopyCursor): void {
    if (this.#disk.isDead) return;
    this.#acknowledged.set(epoch, seq);
    this.known = { epoch, shipped_seq: seq };
  }

  /** What `box.json` says decides what is in the log: what a later epoch has taken back is not. */
  #lost(): Lost {
    const { epochs, tokens, erasures }: BoxFile = JSON.parse(
      fs.readFileSync(path.join(this.#folder, 'box.json'), 'utf8'),
    );
    const ledger = new ErasedPlayers(erasures.map(erasureOf));
    const lost: Lost = {
      possible: new Map(),
      certain: new Set(),
      erasedBeforeNs: (player) => ledger.find(player)?.beforeNs,
      isRevoked: new Map((tokens ?? []).map(({ id, revoked_ms }) => [id, revoked_ms !== null])),
    };
    for (const [i, { name }] of epochs.entries()) {
      const [upTo, acknowledged] = [takenBackAfter(epochs, i), this.#acknowledged.get(name) ?? 0];
      for (const line of this.#read.get(name) ?? []) {
        const { key } = line.sent;
        if (line.seq > upTo) continue;
        lost.possible.set(key, [...(lost.possible.get(key) ?? []), line]);
        if (line.seq <= acknowledged && this.#model.isShippable(key)) lost.certain.add(key);
      }
    }
    return lost;
  }
}

class WatchedFeed extends LocalFeed {
  readonly #on: (piece: Piece) => void;

  constructor(directory: DataDirectory, on: (piece: Piece) => void) {
    super(directory);
    this.#on = on;
  }

  override async next(after: number, most: number): Promise<Piece> {
    const piece = await super.next(after, most);
    this.#on(piece);
    return piece;
  }
}

class WatchedSink extends DirectorySink {
  readonly #on: (cursor: CopyCursor) => void;

  constructor(
    target: ConstructorParameters<typeof DirectorySink>[0],
    feed: LocalFeed,
    on: (cursor: CopyCursor) => void,
  ) {
    super(target, feed);
    this.#on = on;
  }

  override async send(...args: Parameters<DirectorySink['send']>): Promise<CopyCursor> {
    const cursor = await super.send(...args);
    this.#on(cursor);
    return cursor;
  }
}

/** @returns the last seq that a later epoch has left of one: a restore has taken back what came after it. */
function takenBackAfter(epochs: readonly Epoch[], i: number): number {
  return Math.min(...epochs.slice(i + 1).map(({ fromSeq }) => fromSeq));
}

function lineOf(text: string): Line {
  const { seq, received_at, event } = JSON.parse(text);
  const [decoded] = decodeBatch(Buffer.from(JSON.stringify(event)));
  return { seq, sent: sentOf(decoded!), receivedMs: Date.parse(received_at) };
}

/** @param folder of an epoch. @returns in their order. */
function filesOf(folder: string): string[] {
  const names = fs.existsSync(folder) ? fs.readdirSync(folder) : [];
  const numbers = names.flatMap((name) => /^(\d+)\.ndjson\.gz$/.exec(name)?.[1] ?? []).map(Number);
  return numbers.sort((a, b) => a - b).map((number) => path.join(folder, `${number}.ndjson.gz`));
}

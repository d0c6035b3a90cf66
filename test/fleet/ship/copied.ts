import fs from 'node:fs';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { DataDirectory } from '../../../src/base/dataDirectory.ts';
import type { CopyCursor } from '../../../src/fleet/copy/copyCursor.ts';
import { DirectorySink } from '../../../src/fleet/copy/directorySink.ts';
import type { EventFeed } from '../../../src/fleet/copy/eventFeed.ts';
import { LocalFeed } from '../../../src/fleet/copy/localFeed.ts';
import { CHUNK_LIMITS } from '../../../src/fleet/log/chunk.ts';
import { type Cleanup, temporaryFolder } from '../../harness/daemon.ts';
import { Box } from './box.ts';

/** A box that copies its events into a directory, and what is there, read by none of courtd's code. */
export class CopyingBox extends Box {
  readonly root: string;

  constructor(t: Cleanup, root = temporaryFolder(t), data = temporaryFolder(t)) {
    super(t, data, { COURTD_SHIP_URL: `file://${root}`, COURTD_SHIP_BOX: 'venue-7' });
    this.root = root;
  }

  get copy(): string {
    return path.join(this.root, 'venue-7');
  }

  get boxFile() {
    return JSON.parse(fs.readFileSync(path.join(this.copy, 'box.json'), 'utf8'));
  }

  /** The files of the copy, epoch by epoch as box.json has them, by their number. */
  get files(): string[] {
    const numberOf = (file: string) => Number(path.basename(file).split('.')[0]);
    return this.boxFile.epochs.flatMap(({ name }: { name: string }) => {
      const folder = path.join(this.copy, name);
      const names = fs.existsSync(folder) ? fs.readdirSync(folder) : [];
      const files = names.filter((name) => !name.startsWith('.'));
      return files.map((file) => path.join(folder, file)).sort((a, b) => numberOf(a) - numberOf(b));
    });
  }

  /** What "zcat" of all of them prints. */
  get copied(): string {
    return this.files.map((file) => gunzipSync(fs.readFileSync(file)).toString()).join('');
  }

  async stored(): Promise<string> {
    return (await this.lines()).join('');
  }
}

/** A shipper in this process, which sends chunks as they are asked for. */
export class Courier {
  readonly feed: EventFeed;
  readonly sink: DirectorySink;

  constructor(t: Cleanup, { root, data }: CopyingBox, feed?: EventFeed) {
    const target = { root, box: 'venue-7', url: `file://${root}` };
    this.feed = feed ?? new LocalFeed(new DataDirectory(data));
    this.sink = new DirectorySink(target, this.feed);
    t.teardown(() => this.feed.close());
  }

  /** @param most events of a chunk. @returns the cursor, once everything is copied. */
  async run(most = 500): Promise<CopyCursor> {
    let cursor = await this.sink.readCursor();
    for (;;) {
      const piece = await this.feed.next(cursor.seq, most);
      if (piece.lines.length === 0) return cursor;
      // The sink is not to read on by itself.
      cursor = await this.sink.send({ ...piece, after: cursor.seq, isLast: true }, cursor);
    }
  }
}

/** A log whose events were received on these days, one each second. */
export function feedOf(
  days: readonly string[],
  oldestSeq = () => 1,
  prunedSeq = () => oldestSeq() - 1,
  note = () => '',
): EventFeed {
  const all = days.map(
    (day, i) =>
      `{"seq":${i + 1},"received_at":"${day}T10:00:00.000Z","event":{"n":${i + 1},"note":"${note()}"}}\n`,
  );
  const epochs = [{ name: 'e1', fromSeq: 0 }];
  return {
    state: async () => ({ epochs, lastSeq: all.length, prunedSeq: prunedSeq(), report: undefined }),
    next: async (after, most) => {
      const lines = all.slice(after, after + Math.min(most, CHUNK_LIMITS.events));
      const last = after + lines.length;
      return { epoch: 'e1', lines, last, isLast: last === all.length };
    },
    identity: async () => ({ venue: null, oldestSeq: oldestSeq(), tokens: null, erasures: [] }),
    report: async () => {},
    close: async () => {},
  };
}

import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { partialNameOf } from '../../../src/base/atomicFile.ts';
import { DataDirectory } from '../../../src/base/dataDirectory.ts';
import { NoteKeeper, readNote } from '../../../src/fleet/feed/shipNote.ts';
import { temporaryFolder } from '../../harness/daemon.ts';

const PLACE = { box: 'one', url: 'nats://hq', epoch: 'a', state: 'current', shipped_seq: 7 } as const;
const REPORT = { ...PLACE, last_ack_at: null, error: null, left_out: null, erased_ms: null, running: false };

t.test('a note that can neither be written nor taken away again ends no shipper', (t) => {
  const directory = new DataDirectory(temporaryFolder(t));
  const partial = partialNameOf(directory.file('shipNote'));
  // Neither can a file be made there, nor is it removed: as on a disk that fails both.
  fs.mkdirSync(partial);
  const keeper = new NoteKeeper(directory);
  t.doesNotThrow(() => keeper.put(REPORT));
  fs.rmdirSync(partial);
  keeper.put(REPORT);
  t.equal(readNote(directory)?.shipped_seq, 7, 'the next report is written');
  t.end();
});

t.test('a note that cannot be written leaves nothing behind', (t) => {
  const folder = temporaryFolder(t);
  const directory = new DataDirectory(folder);
  const note = directory.file('shipNote');
  fs.mkdirSync(path.join(note, 'in the way'), { recursive: true });
  t.doesNotThrow(() => new NoteKeeper(directory).put(REPORT));
  t.strictSame(fs.readdirSync(folder), [path.basename(note)]);
  t.end();
});

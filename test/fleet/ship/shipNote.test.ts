import fs from 'node:fs';
import t from 'tap';
import { partialNameOf } from '../../../src/base/atomicFile.ts';
import { DataDirectory } from '../../../src/base/dataDirectory.ts';
import { NoteKeeper, readNote } from '../../../src/fleet/feed/shipNote.ts';
import { temporaryFolder } from '../../harness/daemon.ts';

t.test('a note that can neither be written nor taken away again ends no shipper', (t) => {
  const directory = new DataDirectory(temporaryFolder(t));
  const partial = partialNameOf(directory.file('shipNote'));
  // Neither can a file be made there, nor is it removed: as on a disk that fails both.
  fs.mkdirSync(partial);
  const keeper = new NoteKeeper(directory);
  const report = { box: 'one', url: 'nats://hq', epoch: 'a', state: 'current', shipped_seq: 7 } as const;
  const rest = { last_ack_at: null, error: null, left_out: null, erased_ms: null, running: false };
  t.doesNotThrow(() => keeper.put({ ...report, ...rest }));
  fs.rmdirSync(partial);
  keeper.put({ ...report, ...rest });
  t.equal(readNote(directory)?.shipped_seq, 7, 'the next report is written');
  t.end();
});

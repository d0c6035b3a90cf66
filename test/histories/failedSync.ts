import fs from 'node:fs';
import path from 'node:path';
import { Disk } from './disk.ts';

/**
 * What a sync that fails says to whom: `failedSync.ts FOLDER [LIBRARY]`, on the disk of this process (disk.c) where it was started with
 * that. It says 'ready' over the channel to its parent, continues when a message makes writes fail, and reports what each sync
 * said: 'ok' or 'failed'.
 */

const AT_BYTES = 4 * 1024 ** 2;
const EIO = 5;
const [folder, library] = process.argv.slice(2);
const disk = library === undefined ? undefined : new Disk(library, folder!);
const file = path.join(folder!, 'file');
const open = () => fs.openSync(file, 'r+');
const sync = (fd: number) => {
  try {
    fs.fsyncSync(fd);
    return 'ok';
  } catch {
    return 'failed';
  }
};

fs.writeFileSync(file, Buffer.alloc(4096, 'a'));
const [first, second] = [open(), open()];
sync(first);
process.once('message', () => {
  disk?.fail('sync', 1, 1, EIO);
  fs.writeSync(first, Buffer.alloc(4096, 'b'), 0, 4096, AT_BYTES);
  const said = [sync(first), sync(first)];
  const third = open();
  said.push(sync(third), sync(second), sync(second));
  const left = Buffer.alloc(1);
  fs.readSync(third, left, 0, 1, AT_BYTES);
  process.send!({ said, left: left.toString() }, () => process.exit());
});
process.send!('ready');

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { run, temporaryFolder } from '../harness/daemon.ts';
import { missingPrograms } from '../harness/needs.ts';
import { SmallDisk, withoutMount } from '../harness/smallDisk.ts';
import { buildDisk } from './disk.ts';

const SCRIPT = fileURLToPath(new URL('failedSync.ts', import.meta.url));
const IMAGE_BYTES = 64 * 1024 ** 2;
/** For what the file system writes of its own, and the journal. */
const BACKED_MIB = 24;

/**
 * To the descriptor that was synced; then to none that asks again or is opened later, though the data are not on the disk and can be
 * read; and once to each that was open.
 */
const EXPECTED = { said: ['failed', 'ok', 'ok', 'failed', 'ok'], left: 'b' };

async function told(child: ChildProcess, breakIt: () => void): Promise<unknown> {
  await once(child, 'message');
  breakIt();
  child.send('broken');
  const [said] = await once(child, 'message');
  return said;
}

t.test(
  'the disk of the histories reports a failed sync to the same descriptors as the kernel',
  {
    skip: missingPrograms({ gcc: 'gcc libc6-dev' }) ?? false,
  },
  async (t) => {
    const library = buildDisk();
    const env = { ...process.env, NODE_OPTIONS: '', LD_PRELOAD: library };
    const child = fork(SCRIPT, [temporaryFolder(t), library], { env, execArgv: [] });
    t.strictSame(await told(child, () => {}), EXPECTED);
  },
);

t.test(
  'the kernel reports a failed sync once to each open descriptor, on ext4',
  {
    skip: withoutMount || (missingPrograms({ 'mkfs.ext4': 'e2fsprogs', losetup: 'mount' }) ?? false),
  },
  async (t) => {
    const backing = await SmallDisk.mount(t, BACKED_MIB);
    const image = path.join(backing.folder, 'image');
    const folder = path.join(temporaryFolder(t), 'mounted');
    fs.mkdirSync(folder);
    fs.closeSync(fs.openSync(image, 'w'));
    fs.truncateSync(image, IMAGE_BYTES);
    // Without a journal, so that nothing but the file is written where there is no room.
    await run('mkfs.ext4', ['-q', '-F', '-O', '^has_journal', image]);
    const { status, stderr } = await run('mount', ['-o', 'loop', image, folder]);
    t.equal(status, 0, stderr);
    t.teardown(() => run('umount', ['-l', folder]));
    const child = fork(SCRIPT, [folder], { env: { ...process.env, NODE_OPTIONS: '' }, execArgv: [] });
    t.strictSame(await told(child, () => backing.fill()), EXPECTED);
  },
);

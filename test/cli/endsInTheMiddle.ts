import { once } from 'node:events';
import fs from 'node:fs';
import type { Test } from 'tap';
import { BIN, start, temporaryFolder } from '../harness/daemon.ts';
import type { StoppedBox } from '../harness/scratchStore.ts';

const NAME = /^courtd-\d{8}T\d{6}Z\.db$/;

/**
 * Ends a backup by a signal while it is being written.
 * @returns the directory that it was written to. Where it was done before the signal came, another one is tried.
 */
async function endOne(t: Test, data: string, signal: NodeJS.Signals): Promise<string> {
  for (;;) {
    const folder = temporaryFolder(t);
    const watcher = fs.watch(folder);
    const begun = once(watcher, 'change');
    const child = start(BIN, ['backup', folder, '--data', data]);
    const exit = once(child, 'exit');
    await begun;
    watcher.close();
    child.kill(signal);
    const [status, by] = await exit;
    if (fs.readdirSync(folder).some((name) => NAME.test(name))) continue;
    t.strictSame([status, by], [null, signal]);
    return folder;
  }
}

/** A backup that is ended leaves nothing that looks like one, and the next one removes what it left. */
export async function endsInTheMiddle(t: Test, box: StoppedBox, signal: NodeJS.Signals): Promise<void> {
  const folder = await endOne(t, box.data, signal);
  t.equal(fs.readdirSync(folder).length, signal === 'SIGKILL' ? 1 : 0);
  t.equal((await box.command('backup', folder)).status, 0);
  const [backup, ...more] = fs.readdirSync(folder);
  t.match(backup, NAME);
  t.strictSame(more, []);
}

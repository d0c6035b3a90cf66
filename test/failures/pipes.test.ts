import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import t from 'tap';
import { DataDirectory } from '../../src/base/dataDirectory.ts';
import { FILES_CHECK_MS } from '../../src/base/limits.ts';
import { Daemon, run, temporaryFolder } from '../harness/daemon.ts';
import { events } from '../harness/events.ts';

/** Somebody in the group puts a pipe where courtd has a file: whoever opened it would wait for its other end, for ever. */

const ANSWER_MS = 60_000;

/** In one step: a daemon that finds no file makes one. */
async function putPipe(file: string): Promise<void> {
  const pipe = `${file}.pipe`;
  const { status, stderr } = await run('mkfifo', [pipe]);
  if (status !== 0) throw new Error(stderr);
  fs.renameSync(pipe, file);
}

t.test('in the place of the reserve, beside a daemon: it serves on, and stops when told', async (t) => {
  const daemon = await Daemon.start(t);
  await putPipe(path.join(daemon.data, 'courtd.reserve'));
  // It looks after its reserve this often, and nothing tells of that.
  await sleep(2 * FILES_CHECK_MS);
  const late = sleep(ANSWER_MS, 'no answer', { ref: false });
  t.match(await Promise.race([daemon.post(events(3)), late]), { status: 202 });
  t.equal(await daemon.stop(), 0);
});

const SRC = pathToFileURL(path.resolve(import.meta.dirname, '../../src'));

/** In a process of its own, which can be ended while it waits. @returns what it read. */
async function lookAtClock(folder: string): Promise<unknown> {
  const program = `
    import { DataDirectory } from '${SRC}/base/dataDirectory.ts';
    import { markClock, readMark } from '${SRC}/store/directory/clockMark.ts';
    const directory = new DataDirectory(${JSON.stringify(folder)});
    markClock(directory)();
    process.stdout.write(JSON.stringify(readMark(directory) ?? null));`;
  const { status, stdout } = await run(process.execPath, ['--input-type=module', '-e', program], {
    timeout: ANSWER_MS,
  });
  return status === 0 ? JSON.parse(stdout) : 'no answer';
}

t.test('in the place of the mark of the clock: there is no mark', async (t) => {
  const folder = temporaryFolder(t);
  t.match(await lookAtClock(folder), { steadySinceMs: 0 });
  await putPipe(path.join(folder, 'courtd.clock'));
  t.equal(await lookAtClock(folder), null);
});

t.test('a mark of the clock with more behind it than courtd writes is one all the same', async (t) => {
  const folder = temporaryFolder(t);
  fs.writeFileSync(path.join(folder, 'courtd.clock'), 'x'.repeat(100));
  t.match(await lookAtClock(folder), { steadySinceMs: 0 });
});

t.test('of a small file that somebody has made endless, only the beginning is read', async (t) => {
  const directory = new DataDirectory(temporaryFolder(t));
  const beginning = 'x'.repeat(16 * 1024);
  fs.writeFileSync(directory.file('clock'), `${beginning}more`);
  t.equal(directory.read('clock'), beginning);

  const pipe = directory.file('backupNote');
  await putPipe(pipe);
  // As long as it is open, there is no end of the file.
  const writer = fs.openSync(pipe, fs.constants.O_RDWR);
  t.teardown(() => fs.closeSync(writer));
  fs.writeSync(writer, `${beginning}more`);
  t.equal(directory.read('backupNote'), beginning);
});

import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import t from 'tap';
import { fileSink, partialNameOf } from '../../src/base/atomicFile.ts';
import { READ_CHUNK_ROWS } from '../../src/base/limits.ts';
import { BIN, type Cleanup, Daemon, run, start, temporaryFolder } from '../harness/daemon.ts';
import { events } from '../harness/events.ts';

const EVENTS = 20 * READ_CHUNK_ROWS;
const OLD = 'an older export\n';

const daemon = await Daemon.start(t);
for (let sent = 0; sent < EVENTS; sent += 500) {
  const { status } = await daemon.post(events(500, { session_id: 'long' }));
  if (status !== 202) throw new Error(`answered ${status}`);
}
const command = ['export', 'long', '--data', daemon.data, '--format', 'ndjson'];
const whole = await run(BIN, command);

/** A folder of its own with an older export in it. */
function folderWith(t: Cleanup, content = OLD) {
  const folder = temporaryFolder(t);
  const file = path.join(folder, 'out.ndjson');
  fs.writeFileSync(file, content);
  return { folder, file, read: () => fs.readFileSync(file, 'utf8') };
}

/** More than a machine ever is too late for one after the other. */
const TRIES = 20;

/**
 * Exports over an older file, and does something while the new one is being written.
 * @param isLate whether the export was done before that; another one is tried then.
 */
async function whileWriting<Seen>(
  t: Cleanup,
  act: (child: ReturnType<typeof start>, place: ReturnType<typeof folderWith>) => Seen,
  isLate: (outcome: { seen: Seen; status: number | null }) => boolean = ({ status }) => status === 0,
) {
  for (let tries = 1; ; tries++) {
    const place = folderWith(t);
    const watcher = fs.watch(place.folder);
    const begun = once(watcher, 'change');
    const child = start(BIN, [...command, '-o', place.file]);
    const closed = once(child, 'close');
    const texts = Promise.all([child.stdout, child.stderr].map((stream) => text(stream)));
    await Promise.race([begun, closed]);
    const seen = act(child, place);
    watcher.close();
    const [status, signal] = await closed;
    const [stdout, stderr] = await texts;
    if (tries === TRIES || !isLate({ seen, status }))
      return { ...place, seen, pid: child.pid, status, signal, stdout, stderr };
  }
}

/** Runs the export in a shell, as "$0" "$@". */
function shell(script: string, ...args: string[]) {
  return run('/bin/sh', ['-c', script, BIN, ...command, ...args]);
}

t.test('an existing file stays as it is until the new one is complete', async (t) => {
  const { file, read, seen, status, stderr } = await whileWriting(
    t,
    (_child, { file, read }) => ({ content: read(), ino: fs.statSync(file).ino }),
    ({ seen }) => seen.content === whole.stdout,
  );
  t.equal(seen.content, OLD, 'it was still whole while the other one was written');
  t.equal(status, 0);
  t.match(stderr, `${EVENTS} events written to ${file}; the existing file was replaced; as_of seq `);
  t.ok(read() === whole.stdout);
  t.not(fs.statSync(file).ino, seen.ino, 'replaced, not written over');
});

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGKILL'] as const) {
  t.test(
    `${signal} in the middle ends it by that signal and leaves the existing file as it was`,
    async (t) => {
      const ended = await whileWriting(t, (child) => child.kill(signal));
      t.strictSame([ended.status, ended.signal], [null, signal]);
      t.equal(ended.read(), OLD);
      // Nobody can tidy up after SIGKILL; what it leaves is hidden, and named as what it is.
      const left = fs.readdirSync(ended.folder).filter((name) => name !== 'out.ndjson');
      if (signal === 'SIGKILL') t.strictSame(left, [`.out.ndjson.${ended.pid}.partial`]);
      else t.strictSame(left, []);
    },
  );
}

t.test('a failed export names its file in one sentence, and leaves no partial file', async (t) => {
  // A folder takes the file's place while it is written: the end of the export cannot replace that.
  const { status, stdout, stderr, folder } = await whileWriting(t, (_child, { file }) => {
    fs.rmSync(file);
    fs.mkdirSync(file);
  });
  t.strictSame({ status, stdout }, { status: 1, stdout: '' });
  t.match(stderr, /^courtd: [^\n]+out\.ndjson: illegal operation on a directory[^\n]+\n$/);
  t.strictSame(fs.readdirSync(folder), ['out.ndjson']);
});

t.test('a link stays one: what it leads to is replaced', async (t) => {
  const { folder, file, read } = folderWith(t);
  const link = path.join(folder, 'link');
  fs.symlinkSync('out.ndjson', link);
  t.equal((await run(BIN, [...command, '-o', link])).status, 0);
  t.ok(read() === whole.stdout);
  t.equal(fs.readlinkSync(link), 'out.ndjson');
  t.strictSame(fs.readdirSync(folder), ['link', path.basename(file)]);
});

t.test('an export does not write to a link or a file at the place of its partial file', async (t) => {
  for (const make of [fs.symlinkSync, fs.linkSync]) {
    const { folder, file, read } = folderWith(t);
    const precious = path.join(temporaryFolder(t), 'precious');
    fs.writeFileSync(precious, OLD);
    make(precious, partialNameOf(file));
    const sink = fileSink(file);
    await sink.write('new\n');
    sink.commit();
    t.equal(fs.readFileSync(precious, 'utf8'), OLD);
    t.equal(read(), 'new\n');
    t.ok(fs.lstatSync(file).isFile());
    t.strictSame(fs.readdirSync(folder), [path.basename(file)]);
  }
});

t.test('a reader that ends early (| head) ends an export with status 0 and no message', async (t) => {
  for (const format of ['ndjson', 'csv']) {
    const script = '{ "$0" "$@"; echo "status $?" >&2; } | head -n 1';
    const { stdout, stderr } = await shell(script, '--format', format);
    t.equal(stderr, 'status 0\n', format);
    t.equal(stdout.split('\n').length, 2, format);
  }
});

import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { SinkError } from '../../../src/fleet/copy/sink.ts';
import { courtd, Daemon, temporaryFolder } from '../../harness/daemon.ts';
import { event, events } from '../../harness/events.ts';
import { runInProcess } from '../../harness/inProcess.ts';
import { CopyingBox, Courier, feedOf } from './copied.ts';

runInProcess();

const modeOf = (file: string) => (fs.statSync(file).mode & 0o7777).toString(8);
const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

t.test(
  '"ship --once" copies into a directory what "tail" prints, for its owner alone, each event once',
  async (t) => {
    const daemon = await Daemon.start(t, ['--venue', 'venue-1']);
    const box = new CopyingBox(t, undefined, daemon.data);
    for (const batch of [
      events(500),
      events(500),
      events(3),
      [event({ note: 'ünïcode 🎾 12345678901234567890' })],
    ])
      t.equal((await daemon.post(batch)).status, 202);
    t.match(await box.once(), { status: 0 });
    t.match(await box.status(), { state: 'current', shipped_seq: 1_004, behind_events: 0, error: null });
    t.equal(box.copied, await box.stored());
    t.strictSame([box.copy, path.dirname(box.files[0]!)].map(modeOf), ['700', '700']);
    t.strictSame([path.join(box.copy, 'box.json'), box.files[0]!].map(modeOf), ['600', '600']);
    t.equal(path.basename(box.files[0]!), '0.ndjson.gz');
    t.match(await box.once(), { status: 0 });
    await daemon.post(events(2));
    t.match(await box.once(), { status: 0 });
    t.equal(box.copied, await box.stored());
    t.equal(box.files.length, 1, 'a file is for a day');
    const [token] = (await box
      .command('token', 'list', '--json')
      .then(({ stdout }) => JSON.parse(stdout))) as [object];
    const { epoch } = await box.status();
    t.match(box.boxFile, { box: 'venue-7', epoch, epochs: [{ name: epoch, fromSeq: 0 }], version: String });
    t.match(box.boxFile.tokens, [{ id: 1, state: 'active', hash: /^[0-9a-f]{64}$/, expires_ms: null }]);
    t.match(token, { id: 1, state: 'active' });
    t.notMatch(fs.readFileSync(path.join(box.copy, 'box.json'), 'utf8'), daemon.token);
  },
);

t.test('a shipper that goes on keeps the tokens in box.json as they are', async (t) => {
  const box = new CopyingBox(t);
  box.put(...events(3));
  const shipper = box.ship();
  await shipper.state('current');
  t.strictSame(box.boxFile.tokens, []);
  const changed = Promise.withResolvers<void>();
  const watcher = fs.watch(box.copy, (_kind, name) => name === 'box.json' && changed.resolve());
  t.teardown(() => watcher.close());
  t.equal((await box.command('token', 'rotate')).status, 0);
  await changed.promise;
  t.match(box.boxFile.tokens, [{ id: 1, state: 'active' }]);
  t.strictSame(
    fs.readdirSync(box.copy).filter((name) => name.startsWith('.')),
    [],
  );
});

t.test('what a crash left at the end, of whatever length, is cut, and written again', async (t) => {
  const box = new CopyingBox(t);
  const feed = feedOf(['2026-11-23', '2026-11-23']);
  await new Courier(t, box, feed).run(1);
  const [file] = box.files;
  const whole = fs.readFileSync(file!);
  // Where the second chunk begins.
  const begin = whole.indexOf(whole.subarray(0, 8), 1);
  const wrong: number[] = [];
  // readCopy.test.ts reads a file of each length; each here takes a dozen syncs.
  for (let size = 0; size < whole.length; size += 7) {
    const tail = Buffer.alloc((size % 2) * 9, size);
    fs.writeFileSync(file!, Buffer.concat([whole.subarray(0, size), tail]));
    const courier = new Courier(t, box, feed);
    const { seq } = await courier.sink.readCursor();
    if (seq !== (size < begin ? 0 : 1)) wrong.push(size);
    await courier.run(1);
    if (!fs.readFileSync(file!).equals(whole) || box.files.length !== 1) wrong.push(size);
  }
  t.strictSame(wrong, []);
});

t.test('a file that was begun, and got nothing, does not stand in the way', async (t) => {
  const box = new CopyingBox(t);
  box.put(...events(5));
  await new Courier(t, box).run();
  fs.writeFileSync(path.join(path.dirname(box.files[0]!), '5.ndjson.gz'), '');
  box.put(event());
  await new Courier(t, box).run();
  t.equal(box.copied, await box.stored());
  t.equal(box.files.length, 1);
});

t.test('a day has a file of its own, and what waits is written at once', async (t) => {
  const box = new CopyingBox(t);
  const days = [...Array(1_700).fill('2026-11-21'), ...Array(600).fill('2026-11-22'), '2026-11-23'];
  const feed = feedOf(days);
  const courier = new Courier(t, box, feed);
  let cursor = await courier.sink.readCursor();
  const seqs: number[] = [];
  while (cursor.seq < days.length) {
    const piece = await feed.next(cursor.seq, 500);
    cursor = await courier.sink.send({ ...piece, after: cursor.seq }, cursor);
    seqs.push(cursor.seq);
  }
  t.strictSame(seqs, [2_000, 2_301], 'up to where the next day begins with a chunk');
  t.strictSame(
    box.files.map((file) => path.basename(file)),
    ['0.ndjson.gz', '2000.ndjson.gz'],
  );
  t.strictSame(
    box.copied.match(/"n":\d+/g),
    days.map((_day, i) => `"n":${i + 1}`),
  );
});

t.test('files that have only what the box has pruned go, but for the last one', async (t) => {
  const box = new CopyingBox(t);
  const days = Array.from({ length: 6 }, (_, i) => `2026-11-${10 + i}`);
  let [oldest, pruned] = [1, 6];
  const feed = feedOf(
    days,
    () => oldest,
    () => pruned,
  );
  await new Courier(t, box, feed).run(1);
  const names = () => box.files.map((file) => Number.parseInt(path.basename(file), 10));
  t.strictSame(names(), [0, 1, 2, 3, 4, 5]);
  const look = async (seq: number) => {
    oldest = seq;
    t.match(await new Courier(t, box, feed).sink.readCursor(), { seq: 6 });
    return names();
  };
  t.strictSame(await look(0), [0, 1, 2, 3, 4, 5], 'where the oldest is not known');
  pruned = 1;
  t.strictSame(await look(3), [1, 2, 3, 4, 5], 'what the box has lost, and not pruned');
  pruned = 6;
  t.strictSame(await look(3), [2, 3, 4, 5]);
  t.strictSame(await look(7), [5], 'an empty box');
});

t.test('the copy of another box, or of a clone, is not touched; with its own the box goes on', async (t) => {
  const root = temporaryFolder(t);
  const [own, other] = [new CopyingBox(t, root), new CopyingBox(t, root)];
  own.put(...events(5));
  other.put(...events(5));
  t.match(await own.once(), { status: 0 });
  const shown = () =>
    fs.readdirSync(root, { recursive: true, withFileTypes: true }).map(({ parentPath, name }) => {
      const file = path.join(parentPath, name);
      return [file, fs.statSync(file).mtimeMs, fs.statSync(file).isFile() && fs.readFileSync(file, 'latin1')];
    });
  const before = shown();
  t.match(await other.once(), {
    status: 1,
    stderr: /fenced: .*venue-7 is the copy of another box \(epoch \w+\)/,
  });
  t.match(await other.status(), { state: 'fenced', shipped_seq: null });
  const data = temporaryFolder(t);
  fs.cpSync(own.data, data, { recursive: true });
  const clone = new CopyingBox(t, root, data);
  clone.sql('DELETE FROM event WHERE seq = 5');
  t.match(await clone.once(), {
    status: 1,
    stderr: /fenced: .*venue-7 has events that this box does not have/,
  });
  t.strictSame(shown(), before);
  fs.renameSync(path.join(root, 'venue-7'), path.join(root, 'venue-8'));
  t.match(await other.once(), { status: 0 }, 'nobody need say so: another stick is there');
  t.equal(other.copied, await other.stored());
});

t.test(
  'a restored box goes on behind what the backup and the copy share, also where it is restored again',
  async (t) => {
    const box = new CopyingBox(t);
    const place = path.join(temporaryFolder(t), 'backup.db');
    box.put(...events(4));
    t.match(await box.command('backup', place), { status: 0 });
    for (const lost of [3, 1]) {
      box.put(...events(lost));
      t.match(await box.once(), { status: 0 });
      t.match(await box.command('restore', place), { status: 0 });
      box.put(...events(2));
      t.match(await box.once(), { status: 0, stderr: /current/ });
      const last = box.files.at(-1)!;
      t.equal(path.basename(last), '4.ndjson.gz');
    }
    const { epochs } = box.boxFile;
    t.equal(epochs.length, 2);
    t.equal(fs.readdirSync(box.copy).length, 4, 'three epochs and box.json');
  },
);

t.test('a box whose database was put back goes on in a new epoch behind what both have', async (t) => {
  const [box, rebuilt] = [new CopyingBox(t), temporaryFolder(t)];
  box.put(...events(4));
  t.match(await box.once(), { status: 0 });
  const older = path.join(temporaryFolder(t), 'older.db');
  fs.copyFileSync(path.join(box.data, 'courtd.db'), older);
  box.put(...events(5));
  t.match(await box.once(), { status: 0 });
  for (const more of [2, 9]) {
    for (const name of fs.readdirSync(box.data))
      if (/-(wal|shm)$/.test(name)) fs.rmSync(path.join(box.data, name));
    fs.copyFileSync(older, path.join(box.data, 'courtd.db'));
    box.put(...events(more));
    t.match(await box.once(), { status: 1, stderr: /fenced: .*--new-epoch"/ });
    t.match(await box.command('ship', '--new-epoch'), { status: 0 });
    t.match(await box.once(), { status: 0 });
    t.equal(path.basename(box.files.at(-1)!), '4.ndjson.gz');
    const data = path.join(rebuilt, `${more}`);
    t.match(await courtd(['rebuild', box.copy, '--data', data]), { status: 0 });
    t.equal((await courtd(['tail', '--json', '--after', '0', '--data', data])).stdout, await box.stored());
  }
});

t.test('what is there in the place of a file of the copy is said, and left', async (t) => {
  const box = new CopyingBox(t);
  box.put(...events(3));
  t.match(await box.once(), { status: 0 });
  fs.mkdirSync(path.join(path.dirname(box.files[0]!), '3.ndjson.gz'));
  const shipper = box.ship();
  t.match(await shipper.report(({ error }) => error !== null), {
    error: /There is something in .*venue-7 that is not courtd's, .*: move it away\./,
  });
  t.equal(await shipper.stop(), 0);
  fs.rmdirSync(path.join(path.dirname(box.files[0]!), '3.ndjson.gz'));
  fs.renameSync(box.copy, path.join(box.root, 'venue-8'));
  box.env.COURTD_SHIP_BOX = 'venue-8';
  t.match(await box.once(), {
    status: 1,
    stderr: /fenced: .*venue-8 is the copy of another box \(venue-7\)/,
  });
});

t.test('a directory that is not there is waited for, and no other is made in its place', async (t) => {
  const root = path.join(temporaryFolder(t), 'stick');
  const box = new CopyingBox(t, root);
  box.put(...events(3));
  const shipper = box.ship();
  t.match(await shipper.report(({ error }) => error !== null), {
    state: 'connecting',
    error: /no such file or directory. Is the stick plugged in, and mounted?/,
  });
  t.notOk(fs.existsSync(root));
  const seen = shipper.reports.length;
  fs.mkdirSync(root);
  await shipper.state('current', seen);
  t.equal(box.copied, await box.stored());
  // Unmounted: the directory that it was mounted on is there, and empty.
  fs.renameSync(box.copy, `${root}.away`);
  const then = shipper.reports.length;
  box.put(event());
  t.match(await shipper.report(({ error }) => /nothing is mounted/.test(`${error}`), then), {
    error: /There is no copy in .*, and nothing is mounted there: plug its stick in/,
  });
  t.strictSame(fs.readdirSync(root), []);
  fs.renameSync(`${root}.away`, box.copy);
  await shipper.state('current', then);
  t.equal(box.copied, await box.stored());
  t.equal(await shipper.stop(), 0);
});

t.test('an older copy is brought up to date, and it is said that it is another one', async (t) => {
  const box = new CopyingBox(t);
  box.put(...events(3));
  t.match(await box.once(), { status: 0 });
  fs.cpSync(box.copy, path.join(box.root, 'older'), { recursive: true });
  box.put(...events(700));
  t.match(await box.once(), { status: 0 });
  fs.rmSync(box.copy, { recursive: true });
  fs.renameSync(path.join(box.root, 'older'), box.copy);
  box.put(event());
  const { status, stderr } = await box.once();
  t.equal(status, 0);
  t.match(
    stderr,
    /behind: The copy in .* reaches seq 3, and seq 703 had been copied: it is another one than before/,
  );
  t.equal(box.copied, await box.stored());
});

t.test('two that write to one copy do not write over each other', async (t) => {
  const box = new CopyingBox(t);
  box.put(...events(3));
  const [one, two] = [new Courier(t, box), new Courier(t, box)];
  await one.run();
  const cursor = await two.sink.readCursor();
  box.put(event());
  await one.run();
  const piece = await two.feed.next(cursor.seq, 500);
  const error = await failureOf(two.sink.send({ ...piece, after: cursor.seq }, cursor));
  t.ok(error instanceof SinkError);
  t.match(error, { kind: 'moved' });
  t.match(await two.sink.readCursor(), { seq: 4 });
  t.equal(box.copied, await box.stored());
});

t.test('a URL that names no directory is refused before anything is read', async (t) => {
  const box = new CopyingBox(t);
  const settings = { ...box.env, COURTD_SHIP_URL: 'file://media/copy' };
  Object.assign(box.env, settings);
  t.match(await box.once(), {
    status: 2,
    stderr: /^courtd: "file:..media.copy" names no directory of this machine/,
  });
});

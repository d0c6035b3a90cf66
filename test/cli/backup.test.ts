import fs from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import t from 'tap';
import { Cameras } from '../harness/cameras.ts';
import { BIN, Daemon, run, temporaryFolder } from '../harness/daemon.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { stoppedBox } from '../harness/scratchStore.ts';
import { endsInTheMiddle } from './endsInTheMiddle.ts';

runInProcess();

/** For tests that change nothing in them. */
const small = stoppedBox(t);
const large = stoppedBox(t, 5_000);

const NAME = /^courtd-\d{8}T\d{6}Z\.db$/;
const SENTENCE = /^courtd: [^\n]+\n$/;

t.test('beside a daemon that takes events: a whole copy, and no camera is refused', async (t) => {
  const folder = temporaryFolder(t);
  const daemon = await Daemon.start(t, ['--rate-limit', '0']);
  const cameras = new Cameras(t, daemon);
  await cameras.more(1_000);
  const before = [...cameras.acknowledged];
  const { status, stdout, stderr } = await run(BIN, ['backup', folder, '--json', '--data', daemon.data]);
  t.strictSame([status, stderr], [0, '']);
  await cameras.more(1_000);
  await cameras.stop();
  t.strictSame([...cameras.refused], [], 'no request was refused');
  const told = JSON.parse(stdout);
  t.match(path.basename(told.path), NAME);
  t.equal(told.bytes, fs.statSync(told.path).size);
  t.equal(told.sessions, 1);
  t.ok(told.events >= before.length && told.events < cameras.acknowledged.length, `${told.events} events`);
  const db = new Database(told.path, { readonly: true });
  t.teardown(() => db.close());
  const ids = new Set(db.prepare('SELECT event_id FROM event').pluck().all());
  t.equal(ids.size, told.events);
  t.strictSame(
    before.filter((id) => !ids.has(id)),
    [],
    'what was acknowledged before is in it',
  );
  t.equal(db.pragma('integrity_check', { simple: true }), 'ok');
  t.equal(db.pragma('journal_mode', { simple: true }), 'delete', 'one file, with no log beside it');
  t.strictSame(fs.readdirSync(folder), [path.basename(told.path)]);
});

t.test('a file: as it was named, closed to others; path, size, events and time are told', async (t) => {
  const folder = temporaryFolder(t);
  const file = path.join(folder, 'one.db');
  const { status, stdout, stderr } = await small.command('backup', file);
  t.strictSame([status, stdout], [0, '']);
  t.match(stderr, /^Backup written to \/[^\n]+\/one\.db: \d+\.\d [KM]iB, 20 events, in \d+\.\d s\.\n$/);
  t.equal(fs.statSync(file).mode & 0o777, 0o660);
  t.strictSame(fs.readdirSync(folder), ['one.db']);
});

t.test('a directory keeps the newest ones, and nothing but backups is ever removed from it', async (t) => {
  const folder = temporaryFolder(t);
  const others = ['courtd-2020.db', 'courtd-20200101T000000Z.db.old', 'my-courtd-20200101T000000Z.db'];
  for (const name of others) fs.writeFileSync(path.join(folder, name), '');
  fs.mkdirSync(path.join(folder, 'courtd-20200101T000000Z.db'));
  const older = ['courtd-20200102T000000Z.db', 'courtd-20200103T000000Z.db', 'courtd-20200104T000000Z.db'];
  for (const name of older) fs.writeFileSync(path.join(folder, name), '');
  // Made when the clock was ahead: it would be the newest for ever.
  fs.writeFileSync(path.join(folder, 'courtd-20990101T000000Z.db'), '');
  const { stdout } = await small.command('backup', folder, '--keep', '3', '--json');
  const { path: made, removed } = JSON.parse(stdout);
  t.strictSame(removed, ['courtd-20990101T000000Z.db', older[0]]);
  const rest = [...others, 'courtd-20200101T000000Z.db', ...older.slice(1), path.basename(made)];
  t.strictSame(fs.readdirSync(folder).sort(), rest.sort());
  const { stderr } = await small.command('backup', folder, '--keep', '1');
  t.match(stderr, /\nRemoved to keep 1 backup: courtd-20200103T000000Z\.db, /);
  t.equal(
    fs.readdirSync(folder).filter((name) => NAME.test(name)).length,
    2,
    'the new one and the directory',
  );
});

t.test('backups that end at the same time do not stumble over what the other has removed', async (t) => {
  const folder = temporaryFolder(t);
  for (let i = 0; i < 1_000; i++) {
    fs.writeFileSync(path.join(folder, `courtd-2020${String(i).padStart(4, '0')}T000000Z.db`), '');
  }
  for (const { status, stderr } of await Promise.all(
    [1, 2, 3].map(() => run(BIN, ['backup', folder, '--keep', '5', '--data', small.data])),
  )) {
    t.equal(status, 0, stderr.slice(0, 200));
  }
  t.equal(fs.readdirSync(folder).length, 5);
});

// SIGTERM and SIGINT: backup.proof.ts.
t.test('SIGKILL in the middle: nothing that looks like a backup, and the next one tidies up', (t) =>
  endsInTheMiddle(t, large, 'SIGKILL'),
);

t.test('a place where no backup can be: one sentence, status 1, and nothing is changed', async (t) => {
  const folder = temporaryFolder(t);
  const file = path.join(folder, 'there.db');
  fs.writeFileSync(file, 'mine');
  fs.writeFileSync(path.join(folder, 'half.db-wal'), 'mine');
  fs.rmSync(path.join(small.data, 'courtd.db-wal'), { force: true });
  // SQLite's shared memory goes with the last process that has the database open, which may be one that was killed above.
  const names = () =>
    [folder, small.data].map((place) => fs.readdirSync(place).filter((name) => !name.endsWith('-shm')));
  const before = names();
  const places: [place: string, sentence: RegExp][] = [
    [file, /there\.db already exists and was not changed\. Name another file, or a directory/],
    [path.join(folder, 'half.db'), /half\.db-wal exists, and SQLite would read it/],
    [path.join(small.data, 'courtd.db'), /courtd\.db is the database itself: /],
    [path.join(small.data, 'courtd.db-wal'), /end its name in \.db\./],
    [path.join(folder, 'none', 'x.db'), /Cannot write to .*x\.db: no such file or directory\./],
    [path.join(folder, 'none/'), /There is no directory .*none\/: mount its disk, or create it\./],
    [path.join(folder, 'none.db/'), /There is no directory .*none\.db\/: mount its disk, or create it\./],
    [
      path.join(folder, 'none'),
      /There is no directory .*none: mount its disk, or create it\. To write one file, /,
    ],
    [
      path.join(folder, 'half.db-wal'),
      /half\.db-wal is not a directory: name one, or a new file that ends in \.db\./,
    ],
    [path.join(file, 'x.db'), /Cannot write to .*x\.db: not a directory\./],
    ['/proc/x.db', /Cannot write to \/proc\/x\.db: /],
  ];
  for (const [place, sentence] of places) {
    const { status, stdout, stderr } = await small.command('backup', place);
    t.strictSame({ status, stdout }, { status: 1, stdout: '' }, place);
    t.match(stderr, SENTENCE);
    t.match(stderr, sentence);
  }
  t.strictSame(names(), before);
  t.equal(fs.readFileSync(file, 'utf8'), 'mine');
});

t.test('a file system that takes no file so large: it is named, not the one of the database', async (t) => {
  const folder = temporaryFolder(t);
  const limited = ['-c', 'trap "" XFSZ; ulimit -f 512; exec "$@"', 'sh', BIN];
  const { status, stderr } = await run('sh', [...limited, 'backup', folder, '--data', large.data]);
  t.equal(status, 1);
  t.match(stderr, SENTENCE);
  t.ok(
    stderr.startsWith(`courtd: The disk of ${folder} failed a write, or does not support files this large`),
    stderr,
  );
  t.strictSame(fs.readdirSync(folder), []);
});

t.test('who runs it with less urgency than it takes itself is not refused', async (t) => {
  // What root may do beyond others is taken from it.
  const others = process.getuid?.() === 0 ? ['setpriv', '--bounding-set', '-sys_nice'] : [];
  const command = [BIN, 'backup', temporaryFolder(t), '--data', small.data];
  const { status, stderr } = await run('env', [...others, 'nice', '-n', '15', ...command]);
  t.match({ status, stderr }, { status: 0, stderr: /^Backup written to / });
});

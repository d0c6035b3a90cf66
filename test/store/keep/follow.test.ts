import fs from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import t, { type Test } from 'tap';
import { DataDirectory } from '../../../src/base/dataDirectory.ts';
import { openDatabase } from '../../../src/store/db/openDatabase.ts';
import { CopyFollower, type CopyState, ForeignCopy } from '../../../src/store/keep/follow.ts';
import { courtd, Daemon, temporaryFolder } from '../../harness/daemon.ts';
import { event, events } from '../../harness/events.ts';
import { runInProcess } from '../../harness/inProcess.ts';
import { Committer, court } from '../../harness/scratchStore.ts';
import { serveAgain } from '../../harness/servingAgain.ts';

runInProcess();
serveAgain();

type Wire = Record<string, unknown>;

class CopiedBox {
  readonly data: string;
  readonly place: string;
  readonly file: string;
  follower: CopyFollower;

  constructor(t: Test) {
    this.data = temporaryFolder(t);
    this.place = temporaryFolder(t);
    this.file = path.join(this.place, 'courtd.db');
    this.follower = this.newFollower();
    this.put();
  }

  newFollower(): CopyFollower {
    return new CopyFollower(new DataDirectory(this.data), this.place);
  }

  put(...wires: Wire[]): void {
    this.on((db) => wires.length > 0 && new Committer(db).append(...court(...(wires as never[]))));
  }

  on(work: (db: Database.Database) => unknown): void {
    const db = openDatabase(new DataDirectory(this.data), { create: true });
    try {
      work(db);
    } finally {
      db.close();
    }
  }

  async round(follower = this.follower): Promise<CopyState | undefined> {
    let last: CopyState | undefined;
    await follower.round((state) => {
      last = state;
    });
    return last;
  }

  async lines(directory = this.data): Promise<string> {
    return (await courtd(['tail', '--json', '--after', '0', '--data', directory])).stdout;
  }
}

/** Copies a database to where a daemon may use it. */
function placeFor(t: Test, file: string): string {
  const data = temporaryFolder(t);
  fs.copyFileSync(file, path.join(data, 'courtd.db'));
  return data;
}

t.test('a box is rebuilt of its copy: exports, resends and tokens are as they were', async (t) => {
  const daemon = await Daemon.start(t);
  const sent = [...events(30), event({ event_id: 'odd', payload: { big: 1, nested: { a: [1, 'ü'] } } })];
  await daemon.post(sent);
  await daemon.post([{ ...sent[0], revision: 2 }]);
  await daemon.post([{ ...sent[1], confidence: 0.1 }]);
  const place = temporaryFolder(t);
  await new CopyFollower(new DataDirectory(daemon.data), place).round(() => {});
  const session = String(sent[0]!.session_id);
  const exported = await daemon.command('export', session);
  const listed = JSON.parse((await daemon.command('session', 'list', '--json')).stdout);
  await daemon.stop();
  t.equal((await courtd(['export', session, '--data', place])).stdout, exported.stdout, 'the copy itself');

  const data = path.join(temporaryFolder(t), 'new');
  t.match(await courtd(['restore', path.join(place, 'courtd.db'), '--data', data]), { status: 0 });
  const rebuilt = await Daemon.run(t, data, daemon.token);
  t.equal((await rebuilt.command('export', session)).stdout, exported.stdout);
  t.strictSame(JSON.parse((await rebuilt.command('session', 'list', '--json')).stdout), listed);
  t.match(await (await rebuilt.post(sent)).json(), { accepted: 0, duplicates: 31 });
  t.match(await (await rebuilt.post([event({ event_id: 'new' })])).json(), { accepted: 1 });
  t.match(await rebuilt.command('check', '--full'), { stdout: /./ });
  const conflicts = await rebuilt.command('conflicts', '--json');
  t.match(JSON.parse(conflicts.stdout), [{ other: { confidence: 0.1 } }]);
});

t.test('a copy does not name a player whose erasure has ended, and its ledger has them', async (t) => {
  const daemon = await Daemon.start(t);
  const of = (player_id: string, n: number) =>
    event({ event_id: `of-${player_id[0]}-${n}`, payload: { player_id } });
  await daemon.post([of('anna-17', 1), of('bob', 1)]);
  const place = temporaryFolder(t);
  const follower = new CopyFollower(new DataDirectory(daemon.data), place);
  await follower.round(() => {});
  t.ok(fs.readFileSync(path.join(place, 'courtd.db')).includes('anna-17'));
  t.match(await daemon.command('player', 'erase', 'anna-17', '--yes'), { status: 0 });
  await new CopyFollower(new DataDirectory(daemon.data), place).round(() => {});
  t.notOk(fs.readFileSync(path.join(place, 'courtd.db')).includes('anna-17'));
  const again = await Daemon.run(t, placeFor(t, path.join(place, 'courtd.db')), daemon.token);
  await again.post([{ ...of('anna-17', 2), eot: '2020-01-01T00:00:00Z' }]);
  const players = JSON.parse((await again.command('player', 'list', '--json')).stdout);
  t.notMatch(JSON.stringify(players), /anna/);
});

t.test('a copy can be restored after each of its transactions', async (t) => {
  const box = new CopiedBox(t);
  const restored: string[] = [];
  const copies: string[] = [];
  const round = () =>
    box.follower.round(() => {
      if (copies.push(placeFor(t, box.file)) === 1) box.put(event({ session_id: 'd', source: 'new' }));
    });
  for (const session_id of ['a', 'b', 'c']) box.put(...events(1_500, { session_id }));
  await round();
  // One that was pruned comes again under another id.
  box.on((db) => db.exec('DELETE FROM event WHERE session = 1; DELETE FROM session WHERE id = 1'));
  box.put(...events(10, { session_id: 'a' }));
  // It compares all events at its start.
  box.follower = box.newFollower();
  await round();
  for (const copy of copies) {
    const data = path.join(temporaryFolder(t), 'new');
    const { status, stderr } = await courtd(['restore', path.join(copy, 'courtd.db'), '--data', data]);
    const [, count, sessions] = /: (\d+) events? of (\d+) session/.exec(stderr) ?? [];
    restored.push(`${status} ${count} ${sessions}`);
  }
  const first = ['0 0 0', '0 2000 2', '0 4000 3', '0 4501 4'];
  t.strictSame(restored, [...first, '0 3001 3', '0 3011 4', '0 3011 4']);
});

t.test('a copy that somebody filled is not read as a whole', async (t) => {
  for (const fill of [
    "INSERT INTO session (name) VALUES (printf('%.*c', 20000000, 'a'))",
    "UPDATE event SET payload = printf('%.*c', 20000000, 'a') WHERE seq = 2",
  ]) {
    const box = new CopiedBox(t);
    box.put(...events(3));
    await box.round();
    new Database(box.file).exec(fill).close();
    t.ok((await box.round(box.newFollower()).catch((error) => error)) instanceof ForeignCopy, fill);
  }
});

t.test('the copy of another box is not touched, nor a file that is none', async (t) => {
  const [box, other] = [new CopiedBox(t), new CopiedBox(t)];
  for (const one of [box, other]) one.put(...events(3));
  await other.round();
  const bytes = fs.readFileSync(other.file);
  const follower = new CopyFollower(new DataDirectory(box.data), other.place);
  t.ok((await box.round(follower).catch((error) => error)) instanceof ForeignCopy);
  t.ok(bytes.equals(fs.readFileSync(other.file)));

  for (const put of [
    () => fs.writeFileSync(box.file, 'no database'),
    () => new Database(box.file).exec('CREATE TABLE foreign_one (a)').close(),
    () => {
      fs.copyFileSync(other.file, box.file);
      new Database(box.file).exec('CREATE TRIGGER t AFTER INSERT ON event BEGIN SELECT 1; END').close();
    },
  ]) {
    fs.rmSync(box.file, { recursive: true, force: true });
    put();
    t.ok((await box.round().catch((error) => error)) instanceof ForeignCopy);
  }
  fs.rmSync(box.file);
  fs.symlinkSync(other.file, box.file);
  await t.rejects(box.round(), /symbolic link/);
  t.ok(bytes.equals(fs.readFileSync(other.file)));
});

t.test('a copy from before a restore is set aside under the name of its epoch', async (t) => {
  const box = new CopiedBox(t);
  box.put(...events(5));
  const backup = path.join(box.place, 'backup.db');
  t.match(await courtd(['backup', backup, '--data', box.data]), { status: 0 });
  box.put(...events(5));
  const before = await box.round();
  t.match(await courtd(['restore', backup, '--data', box.data]), { status: 0 });
  const after = await box.round();
  t.match(after, { seq: 5 });
  const aside = path.join(box.place, `courtd-${before!.epoch}.db`);
  const kept = new Database(aside, { readonly: true });
  t.equal(kept.prepare('SELECT count(*) FROM event').pluck().get(), 10);
  kept.close();
  t.equal(await box.lines(box.place), await box.lines());

  t.match(await courtd(['restore', backup, '--data', box.data]), { status: 0 });
  await box.round();
  t.ok(fs.existsSync(path.join(box.place, `courtd-${after!.epoch}.db`)), 'the same backup once more');
  t.equal(await box.lines(box.place), await box.lines());
});

t.test('an earlier copy that takes the place of the copy between two rounds is compared', async (t) => {
  const box = new CopiedBox(t);
  box.put(...events(5));
  await box.round();
  const earlier = path.join(placeFor(t, box.file), 'courtd.db');
  box.on((db) => db.exec('DELETE FROM event WHERE seq = 2'));
  box.follower = box.newFollower();
  await box.round();
  fs.renameSync(earlier, box.file);
  await box.round();
  t.equal(await box.lines(box.place), await box.lines());
});

t.test('a place that is not there is waited for', async (t) => {
  const box = new CopiedBox(t);
  box.put(...events(2));
  fs.rmdirSync(box.place);
  await t.rejects(box.round(), /There is no directory/);
  fs.mkdirSync(box.place);
  t.match(await box.round(), { seq: 2 });
});

import fs from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import t from 'tap';
import { Cameras } from '../harness/cameras.ts';
import { BIN, Daemon, run, temporaryFolder } from '../harness/daemon.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { stoppedBox } from '../harness/scratchStore.ts';

runInProcess();

const large = stoppedBox(t, 2_000);

const NAME = /^courtd-\d{8}T\d{6}Z\.db$/;
const SENTENCE = /^courtd: [^\n]+\n$/;

t.test('a backup of a running daemon is a whole copy, and no camera is rejected', async (t) => {
  const folder = temporaryFolder(t);
  const daemon = await Daemon.start(t, ['--rate-limit', '0']);
  const cameras = new Cameras(t, daemon);
  await cameras.more(300);
  const before = [...cameras.acknowledged];
  const { status, stderr } = await run(BIN, ['backup', folder, '--data', daemon.data]);
  t.equal(status, 0, stderr);
  await cameras.more(300);
  await cameras.stop();
  t.strictSame([...cameras.refused], [], 'no request was refused');
  const [, file = '', events] = /written to (\S+): .*, (\d+) events, /.exec(stderr) ?? [];
  t.match(path.basename(file), NAME);
  t.ok(Number(events) >= before.length && Number(events) < cameras.acknowledged.length, `${events} events`);
  const db = new Database(file, { readonly: true });
  t.teardown(() => db.close());
  const ids = new Set(db.prepare('SELECT event_id FROM event').pluck().all());
  t.equal(ids.size, Number(events));
  t.strictSame(
    before.filter((id) => !ids.has(id)),
    [],
    'what was acknowledged before is in it',
  );
  t.equal(db.pragma('integrity_check', { simple: true }), 'ok');
  t.equal(db.pragma('journal_mode', { simple: true }), 'delete', 'one file, with no log beside it');
  t.strictSame(fs.readdirSync(folder), [path.basename(file)]);
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

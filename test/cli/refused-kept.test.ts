import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import t from 'tap';
import { Daemon } from '../harness/daemon.ts';
import { event, events } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { exported, imported, LOOK_AGAIN_MS, linesOf, mended, percent, written } from '../harness/refused.ts';
import { serveAgain } from '../harness/servingAgain.ts';

runInProcess();
serveAgain();

/** Rejected requests outlive a kill, and what a disk does to them. */

t.test('a second after a rejection, a kill -9 loses nothing of it', async (t) => {
  const box = await Daemon.start(t);
  await box.post(events(5, percent));
  await box.post('[]', { Authorization: 'Bearer wrong' });
  const db = new Database(path.join(box.data, 'refused.db'), { readonly: true });
  const rows = db.prepare('SELECT count(*) FROM rejection').pluck();
  const since = performance.now();
  while (rows.get() !== 2) await sleep(LOOK_AGAIN_MS);
  db.close();
  t.ok(performance.now() - since < 10_000, 'without anybody asking for it');
  t.match((await box.command('status')).stdout, '5 rejected events');
  await box.stop('SIGKILL');
  t.equal((await exported(box)).length, 5);
  t.match((await box.command('rejections')).stdout, /401 unauthorized.*\n.*\n.*400 invalid_event/);
  const again = await Daemon.run(t, box.data, box.token);
  t.equal((await exported(again)).length, 5);
});

t.test('a damaged body is named and left out; every other is exported, imported and kept', async (t) => {
  const box = await Daemon.start(t);
  const [bodies, size] = [6, 60];
  const sent: string[] = [];
  for (let i = 0; i < bodies; i++) {
    const many = events(size, percent).map((one) => ({ ...one, note: randomBytes(40).toString('hex') }));
    const { request_id } = (await (await box.post(many)).json()) as { request_id: string };
    sent.push(request_id);
  }
  const lines = await exported(box);
  t.equal(lines.length, bodies * size);
  await box.stop();
  const file = path.join(box.data, 'refused.db');
  const bytes = fs.readFileSync(file);
  const at = bytes.indexOf(Buffer.of(0x1f, 0x8b, 0x08)) + 100;
  bytes[at]! ^= 0xff;
  fs.writeFileSync(file, bytes);
  const again = await Daemon.run(t, box.data, box.token);
  const { status, stdout, stderr } = await again.command('rejections', 'export');
  t.equal(status, 1);
  const [, damaged] = /^The body of (\S+) is damaged [^\n]*\n$/.exec(stderr) ?? [];
  t.ok(sent.includes(damaged!), stderr);
  const others = lines.filter(({ request_id }) => request_id !== damaged);
  t.strictSame(linesOf(stdout), others);
  t.equal((await again.command('rejections', 'show', damaged!)).status, 1);
  await again.post(event(percent));
  await written(again);
  const after = linesOf((await again.command('rejections', 'export')).stdout);
  t.equal(after.length, (bodies - 1) * size + 1, 'new ones are kept');
  // Exported before the damage, so there is something to import.
  t.match(await imported(t, again, lines.map(mended)), { status: 0, accepted: bodies * size });
  const left = await again.command('rejections', 'export');
  t.equal(linesOf(left.stdout).length, 1, 'what is stored is exported no more');
});

t.test('a damaged file is set aside, and the log says where', async (t) => {
  const box = await Daemon.start(t);
  const refused = path.join(box.data, 'refused.db');
  await box.post(events(100, percent));
  t.equal((await exported(box)).length, 100);
  await box.stop();
  const bytes = Buffer.alloc(fs.statSync(refused).size, 0x55);
  fs.writeFileSync(refused, bytes);
  const again = await Daemon.run(t, box.data, box.token);
  const { file } = await again.logged(/^refused\.db was damaged/);
  t.ok(fs.readFileSync(file as string).equals(bytes));
  await again.post(events(100, percent));
  t.equal((await exported(again)).length, 100, 'and a new one is begun');
});

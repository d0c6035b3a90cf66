import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import t from 'tap';
import { courtd, Daemon, temporaryFolder } from '../harness/daemon.ts';
import { event, events } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { exported, idsOf, imported, LOOK_AGAIN_MS, linesOf, mended, percent } from '../harness/refused.ts';
import { serveAgain } from '../harness/servingAgain.ts';

runInProcess();
serveAgain();

/** Bodies of refused requests outlive a kill, a backup, and what a disk does to them. */

t.test('five seconds after a refusal, a kill -9 loses nothing of it', async (t) => {
  const box = await Daemon.start(t);
  const { token, data } = box;
  await box.post(events(5, percent));
  await exported(box);
  const later = event(percent);
  await box.post(later);
  // What `status` tells comes from the file.
  const file = new Database(path.join(data, 'refused.db'), { readonly: true });
  const bodies = file.prepare('SELECT count(*) FROM body').pluck();
  while (bodies.get() !== 2) await sleep(LOOK_AGAIN_MS);
  file.close();
  t.match((await box.command('status')).stdout, '6 refused events');
  await box.stop('SIGKILL');
  t.equal((await exported(box)).length, 6);
  const again = await Daemon.run(t, data, token);
  t.strictSame(idsOf(await exported(again)).slice(5), [later.event_id]);
});

t.test('a backup takes them along where that is asked for, and a restore brings them', async (t) => {
  const box = await Daemon.start(t);
  await box.post(events(3, percent));
  const [first] = await exported(box);
  t.equal((await imported(t, box, [mended(first!)])).accepted, 1);
  await box.post(event(percent));
  const lines = await exported(box);
  const folder = temporaryFolder(t);
  const backup = path.join(folder, 'a.db');
  t.match((await box.command('backup', backup, '--with-refused')).stderr, /With it, 2 refused bodies\./);
  t.equal((await box.command('backup', path.join(folder, 'b.db'))).status, 0);
  t.strictSame(fs.readdirSync(folder).sort(), ['a.db', 'a.refused.ndjson', 'b.db']);
  await box.stop();
  const other = temporaryFolder(t);
  const restored = await courtd(['restore', backup, '--data', other]);
  t.match(restored.stderr, /With it came 2 refused bodies\./);
  const { stdout } = await courtd(['rejections', 'export', '--data', other]);
  t.strictSame(linesOf(stdout), lines, 'and what was ticked off is so there');
  // Into the same box, which has them: once. Of what was imported since, this database knows nothing.
  const running = await Daemon.run(t, box.data, box.token);
  t.equal((await imported(t, running, lines.map(mended))).accepted, 3);
  t.strictSame(await exported(running), []);
  await running.stop();
  t.equal((await box.command('restore', backup)).status, 0);
  t.strictSame(await exported(box), lines);

  const renamed = path.join(folder, 'c.db');
  fs.renameSync(backup, renamed);
  const without = await courtd(['restore', renamed, '--data', temporaryFolder(t)]);
  t.match(without, { status: 0, stderr: /a\.refused\.ndjson beside it .* rename it to c\.refused\.ndjson/ });
  const copy = path.join(folder, 'c.refused.ndjson');
  const [whole = '', second = ''] = fs
    .readFileSync(path.join(folder, 'a.refused.ndjson'), 'utf8')
    .split('\n');
  fs.writeFileSync(copy, `${whole}\n${second.replace(/"gzip":"H4/, '"gzip":"AA')}\n`);
  const damaged = await courtd(['restore', renamed, '--data', temporaryFolder(t)]);
  t.match(damaged, {
    status: 1,
    stderr: /The database was restored\. The refused bodies beside the backup are damaged/,
  });
});

t.test(
  'a damaged body is named and left out; every other is exported, imported, kept and backed up',
  async (t) => {
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
    const at = bytes.indexOf(Buffer.of(0x1f, 0x8b, 0x08), bytes.length / 2) + 1_500;
    bytes[at]! ^= 0xff;
    fs.writeFileSync(file, bytes);
    const again = await Daemon.run(t, box.data, box.token);
    const { status, stdout, stderr } = await again.command('rejections', 'export');
    t.equal(status, 1);
    const [, damaged] = /^The body of (\S+) is damaged on the disk, and was left out\.\n$/.exec(stderr) ?? [];
    t.ok(sent.includes(damaged!), stderr);
    const others = lines.filter(({ request_id }) => request_id !== damaged);
    t.strictSame(linesOf(stdout), others);
    const backup = path.join(temporaryFolder(t), 'a.db');
    t.match(await again.command('backup', backup, '--with-refused'), {
      status: 1,
      stderr: `With it, ${bodies - 1} refused bodies.\nDamaged, and left out: the bodies of the refused requests ${damaged}.\n`,
    });
    t.match(await again.command('rejections', 'show', damaged!), { status: 0, stdout: /the first 16384 of/ });
    await again.post(event(percent));
    const after = linesOf((await again.command('rejections', 'export')).stdout);
    t.equal(after.length, (bodies - 1) * size + 1, 'new ones are kept');
    // Exported before the damage, so there is something to import.
    t.match(await imported(t, again, lines.map(mended)), { status: 0, accepted: bodies * size });
    const left = await again.command('rejections', 'export');
    t.equal(linesOf(left.stdout).length, 1, 'what is stored is exported no more');
  },
);

t.test('a damaged file is set aside, and the log says where; so is an empty one', async (t) => {
  let box = await Daemon.start(t);
  const { data, token } = box;
  const refused = path.join(data, 'refused.db');
  const damages = [(size: number) => Buffer.alloc(size, 0x55), () => Buffer.alloc(0)];
  for (const damage of damages) {
    await box.post(events(100, percent));
    t.equal((await exported(box)).length, 100);
    await box.stop();
    const bytes = damage(fs.statSync(refused).size);
    fs.writeFileSync(refused, bytes);
    box = await Daemon.run(t, data, token);
    const { file } = await box.logged(/^refused\.db was damaged: it was set aside/);
    t.ok(fs.readFileSync(file as string).equals(bytes));
    t.equal(fs.readdirSync(data).filter((name) => /^refused\.db\.damaged-\w+$/.test(name)).length, 1);
  }
});

t.test('the log counts the events that are let go', async (t) => {
  const box = await Daemon.start(t);
  await box.post([event(), ...events(99, percent)]);
  const lines = await exported(box);
  await imported(t, box, lines.slice(0, 10).map(mended));
  t.equal((await exported(box)).length, 90);
  await box.stop();
  const without = await Daemon.run(t, box.data, box.token, ['--refused-bytes', '0']);
  t.match(await without.logged('refused events were let go before anybody had mended them'), { events: 90 });
});

import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import zlib from 'node:zlib';
import Database from 'better-sqlite3';
import t from 'tap';
import { BODY_VALUES } from '../../src/base/limits.ts';
import { Daemon } from '../harness/daemon.ts';
import { event, events } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { cam3, exported, imported, linesOf, mended, percent, written } from '../harness/refused.ts';
import { serveAgain } from '../harness/servingAgain.ts';

runInProcess();
serveAgain();

/** Rejected requests of any kind are kept, outlive a kill, and what a disk does to them. golden/mended.golden has the usual ones. */

t.test('what cannot be parted is its body, without the token; import says that it is one', async (t) => {
  const box = await Daemon.start(t);
  const bytes = Buffer.from([0x7b, 0xff, 0x00]);
  await box.post(bytes);
  await box.post(`{"nope": ${box.token}`);
  await box.post(event({ ...percent, note: box.token }));
  const escaped = [...box.token]
    .map((char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
  await box.post(JSON.stringify(event({ ...percent, note: 'NOTE' })).replace('NOTE', escaped));
  const packed = zlib.gzipSync(box.token);
  await box.post(packed);
  for (const [body, headers] of [
    [zlib.gzipSync(packed), {}],
    [packed.subarray(0, -9), {}],
    [zlib.gzipSync(packed), { 'Content-Encoding': 'gzip' }],
    [packed.subarray(0, -9), { 'Content-Encoding': 'gzip' }],
  ] as const) {
    const answer = await box.post(body, headers);
    t.equal(answer.status, 400);
    const { request_id } = (await answer.json()) as { request_id: string };
    await written(box);
    const shown = await box.command('rejections', 'show', request_id);
    t.match(shown, { status: 0, stdout: '', stderr: /^ +body +not kept$/m }, 'nobody finds the token in it');
  }
  const lines = await exported(box);
  t.equal(lines.length, 5);
  t.strictSame(Buffer.from(lines[0]!.body!, 'base64'), bytes);
  t.match(lines[0], { index: 0, faults: [{ path: '', message: /UTF-8/ }], event: undefined });
  t.match(lines[1]!.faults, [{ path: '', message: /JSON/ }]);
  t.equal(Buffer.from(lines[1]!.body!, 'base64').toString(), '{"nope": (token removed)');
  const { status, stderr } = await imported(t, box, lines.slice(0, 1));
  t.equal(status, 1);
  t.match(stderr, /:1: .*\bbody\b/);
  for (const name of fs.readdirSync(box.data).filter((name) => name.startsWith('refused')))
    t.notOk(fs.readFileSync(path.join(box.data, name)).includes(box.token), name);
  t.notMatch(JSON.stringify(lines), box.token);
  t.match(lines[3], { event: { note: '(token removed)' } });
  t.equal(Buffer.from(lines[4]!.body!, 'base64').toString(), '(token removed)', 'it came packed');
});

t.test('a body with too many events, levels or values is parted', async (t) => {
  const box = await Daemon.start(t);
  const deep = event({ ...cam3, payload: JSON.parse(`{"a":${'['.repeat(50)}${']'.repeat(50)}}`) });
  const large = event({ ...cam3, payload: { list: new Array(BODY_VALUES).fill(1) } });
  t.equal((await box.post(events(501, cam3))).status, 400);
  t.equal((await box.post(deep)).status, 400);
  t.equal((await box.post(large)).status, 413);
  const lines = await exported(box);
  t.equal(lines.length, 503);
  t.strictSame(lines[500]!.faults, []);
  t.match(lines[501], {
    faults: [{ path: '', message: /deeper than 32/ }],
    event: { event_id: deep.event_id },
  });
  t.match(lines[502]!.faults, [{ path: '', message: /JSON values/ }]);
  const flat = { ...lines[501]!, event: { ...deep, payload: {} } };
  t.equal((await imported(t, box, [...lines.slice(0, 501), flat])).accepted, 502);
  t.equal((await exported(box)).length, 1, 'the key of the deep one is stored');
  const broken = [',"x":NaN}', ',"x"'].map((end) => JSON.stringify(deep).replace(/}$/, end));
  for (const body of [...broken, JSON.stringify(deep).replaceAll('[', '['.repeat(50))]) await box.post(body);
  for (const { event } of (await exported(box)).slice(1)) t.equal(event, undefined, 'no JSON');
});

t.test('a second after a rejection, a kill -9 loses nothing of it', async (t) => {
  const box = await Daemon.start(t);
  await box.post(events(5, percent));
  await box.post('[]', { Authorization: 'Bearer wrong' });
  const db = new Database(path.join(box.data, 'refused.db'), { readonly: true });
  const rows = db.prepare('SELECT count(*) FROM rejection').pluck();
  const since = performance.now();
  while (rows.get() !== 2) await sleep(100);
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

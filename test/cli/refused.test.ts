import fs from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';
import t from 'tap';
import { BODY_VALUES } from '../../src/base/limits.ts';
import { Daemon } from '../harness/daemon.ts';
import { event, events } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { cam3, exported, idsOf, imported, linesOf, mended, percent, written } from '../harness/refused.ts';
import { serveAgain } from '../harness/servingAgain.ts';

runInProcess();
serveAgain();

/** Rejected events are kept whole, corrected by a person, and imported. */

t.test(
  'hundreds of refused events, mended, are stored in the order of eot among the others, once',
  async (t) => {
    const box = await Daemon.start(t);
    const at = (ms: number) => new Date(Date.UTC(2026, 2, 14) + ms).toISOString();
    const [batches, size] = [3, 300];
    const good = events(20, { source: 'cam-1' }).map((one, i) => ({ ...one, eot: at(500_000 * i + 250) }));
    await box.post(good);
    const sent: string[] = [];
    for (let batch = 0; batch < batches; batch++) {
      const all = events(size, percent).map((one, i) => ({ ...one, eot: at(1_000 * (batch * size + i)) }));
      sent.push(...all.map(({ event_id }) => event_id));
      t.equal((await box.post(all)).status, 400);
    }
    const lines = await exported(box);
    t.strictSame(idsOf(lines), sent, 'in the order of receipt');
    t.ok(lines.every(({ faults }) => faults.length === 1 && faults[0]!.path === 'confidence'));
    // The same body is kept once, and a corrected event is done.
    const { accepted, duplicates, status } = await imported(t, box, lines.map(mended));
    t.strictSame({ status, accepted, duplicates }, { status: 0, accepted: batches * size, duplicates: 0 });
    t.strictSame(await exported(box), []);
    const stored = (await box.exported('session-1')).map((line) => JSON.parse(line));
    t.equal(new Set(stored.map(({ event_id }) => event_id)).size, batches * size + good.length);
    const times = stored.map(({ eot }) => Date.parse(eot));
    t.strictSame(
      times,
      times.toSorted((a, b) => a - b),
    );
  },
);

t.test(
  'a line has an event as it was sent, with its faults; the good ones of a batch, with none',
  async (t) => {
    const box = await Daemon.start(t);
    const all = Object.fromEntries(Object.keys(event()).map((name) => [name, []]));
    await box.post(
      `[\n ${JSON.stringify(event(cam3))},\n {"note": 1.50,\n  "a": ${JSON.stringify(all)}},${JSON.stringify(all)}]`,
    );
    await written(box);
    const { stdout } = await box.command('rejections', 'export');
    t.match(stdout, '"event":{"note": 1.50,   "a":');
    const [good, , bad] = linesOf(stdout);
    t.strictSame(good!.faults, []);
    t.equal(good!.event!.source, 'cam-3');
    t.equal(bad!.index, 2);
    t.equal(bad!.faults.length, 10, 'as many as an answer lists');
  },
);

t.test('what was stored meanwhile in another way is left out, and so is a mended key', async (t) => {
  const box = await Daemon.start(t);
  const [first, second, third] = [event(percent), event(percent), event({ ...percent, event_id: '' })];
  const before = event(cam3);
  await box.post(before);
  await box.post([first, second, third, before]);
  // As a camera with a corrected firmware does.
  await box.post({ ...first, confidence: 0.97 });
  const lines = await exported(box);
  t.strictSame(idsOf(lines), [second.event_id, '']);
  const keyed = { ...mended(lines[1]!), event: { ...event(cam3), event_id: 'mended' } };
  // Meanwhile it comes again, within another request.
  await box.post([third, event(percent)]);
  const again = await exported(box);
  t.equal(again.length, 3, 'it waits where it came last');
  t.match(await imported(t, box, [mended(lines[0]!), keyed]), { status: 0, accepted: 2 });
  t.equal((await exported(box)).length, 2, 'nobody can know that its key was corrected');
  await box.command('rejections', 'drop', again.at(-1)!.request_id);
  t.strictSame(idsOf(await exported(box)), [''], 'of the first request: its other events are stored');
});

t.test('an event that came in several refused bodies is there once, as it came last', async (t) => {
  const box = await Daemon.start(t);
  const [one, other] = [event(percent), event(percent)];
  await box.post([one, other]);
  await box.post({ ...one, confidence: 98 });
  await box.post([one, other]);
  const lines = await exported(box);
  t.strictSame(
    lines.map(({ event }) => [event!.event_id, event!.confidence]),
    [
      [other.event_id, 97],
      [one.event_id, 98],
    ],
  );
});

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
  await box.post(zlib.gzipSync(box.token));
  const lines = await exported(box);
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

t.test('a body with too many events, values or levels, or with NaN, is parted', async (t) => {
  const box = await Daemon.start(t);
  const nan = JSON.stringify(event(cam3)).replace(/"confidence":[^,]*/, '"confidence":NaN');
  const body = `[${JSON.stringify(event(cam3))},${nan},${nan.replace('NaN', '"\xff"')},${JSON.stringify(event(cam3))}]`;
  t.equal((await box.post(Buffer.from(body, 'latin1'))).status, 400);
  const parts = await exported(box);
  t.strictSame(
    parts.map(({ event }) => event === undefined),
    [false, true, true, false],
  );
  t.equal(Buffer.from(parts[1]!.body!, 'base64').toString(), nan);
  t.match(JSON.parse((await box.command('rejections', '--json')).stdout), [{ source: 'cam-3', events: 4 }]);
  t.equal((await imported(t, box, [parts[0], parts[3]])).accepted, 2);
  await box.command('rejections', 'drop', '--all');
  const deep = event({ ...cam3, payload: JSON.parse(`{"a":${'['.repeat(50)}${']'.repeat(50)}}`) });
  const large = event({ ...cam3, payload: { list: new Array(BODY_VALUES).fill(1) } });
  t.equal((await box.post(events(501, cam3))).status, 400);
  t.equal((await box.post(deep)).status, 400);
  t.equal((await box.post(large)).status, 413);
  const lines = await exported(box);
  t.equal(lines.length, 503);
  t.strictSame(lines[500]!.faults, []);
  t.match(lines[501]!.faults, [{ path: '', message: /deeper than 32/ }]);
  t.match(lines[502]!.faults, [{ path: '', message: /JSON values/ }]);
  t.equal((await imported(t, box, lines.slice(0, 501))).accepted, 501);
});

t.test(
  'nothing is kept of what was not refused for its content, or with COURTD_REFUSED_BYTES=0',
  async (t) => {
    const box = await Daemon.start(t);
    await box.post('{', { Authorization: 'Bearer wrong' });
    await box.post('{', { 'Content-Type': 'text/plain' });
    await box.post('['.repeat(9 * 1024 ** 2));
    t.strictSame(await exported(box), []);
    const none = await Daemon.start(t, [], undefined, { COURTD_REFUSED_BYTES: '0' });
    await none.post('{');
    t.match(await none.command('rejections', 'export'), { status: 0, stdout: '', stderr: /waiting/ });
  },
);

import fs from 'node:fs';
import path from 'node:path';
import t, { type Test } from 'tap';
import { copyErasure, erasureOf } from '../../../src/fleet/copy/boxFile.ts';
import { FeedUnavailable } from '../../../src/fleet/copy/eventFeed.ts';
import { readParts } from '../../../src/fleet/copy/members.ts';
import { seqOf } from '../../../src/fleet/log/chunk.ts';
import { ERASED_ANNA } from '../../harness/erasure.ts';
import { event } from '../../harness/events.ts';
import { runInProcess } from '../../harness/inProcess.ts';
import { CopyingBox, Courier } from './copied.ts';
import { ANNA, days, ErasingBox, FIRST, LAST, lineOf } from './erasing.ts';

runInProcess();

/** A copy from before an erasure. */

async function chunksOf(copy: CopyingBox): Promise<{ file: string; chunks: unknown[] }[]> {
  const all = copy.files.map(async (file) => {
    const after = Number.parseInt(path.basename(file), 10);
    const parts = await Array.fromAsync(readParts({ path: file, after }));
    const chunks = parts.map(({ chunk }) => chunk && [chunk.after, chunk.last, chunk.lines.length]);
    return { file: path.relative(copy.copy, file), chunks };
  });
  return Promise.all(all);
}

/** Whether somebody with the copy alone finds her: but for what she has played since. */
function isGone(t: Test, copy: CopyingBox): void {
  const old = copy.copied.split('\n').filter((line) => !line.includes('2030-01-01'));
  t.notMatch(old.join('\n'), /anna/i);
  t.notMatch(fs.readFileSync(path.join(copy.copy, 'box.json'), 'utf8'), /anna/i);
}

t.test('a copy from before an erasure is written anew, and its chain, seqs and chunks stay', async (t) => {
  const copy = new CopyingBox(t);
  const box = new ErasingBox([
    ...days(60, FIRST),
    ...days(20, LAST, 61).map((line) => line.replaceAll(ANNA, 'p-4').replaceAll('Anna', 'Eva')),
  ]);
  await new Courier(t, copy, box.feed).run(7);
  t.match(copy.copied, /anna/i);
  t.strictSame(copy.boxFile.erasures, []);
  const [before, text] = [await chunksOf(copy), copy.copied];
  const untouched = fs.statSync(copy.files[1]!).ino;
  box.erase();
  box.pruned = 10;
  const { sink } = new Courier(t, copy, box.feed);
  t.match(await sink.readCursor(), { seq: 80 }, 'it is no other log than before');
  t.match(
    sink.unfinished,
    /from before an erasure are being written anew: until then they name who was erased/,
  );
  t.strictSame(copy.boxFile.erasures, [], 'it is not said before it is so');
  await sink.finish();
  t.equal(sink.unfinished, undefined);
  t.strictSame(copy.boxFile.erasures, [ERASED_ANNA]);
  isGone(t, copy);
  t.strictSame(await chunksOf(copy), before);
  const [was, is] = [text, copy.copied].map((all) => all.split(/(?<=\n)/)) as [string[], string[]];
  t.strictSame(is.slice(10), box.lines.slice(10), 'what the box has, as the box has it');
  const own = (lines: string[]) => lines.filter((line) => !line.includes('"erased"'));
  t.strictSame(
    own(is),
    was.filter((line) => is.includes(line)),
    'others are as they were',
  );
  t.match(
    is[2],
    /"seq":3,.*"erased":true,"event":.*"payload":\{"x_ft":1.5,"opponents":\["erased-\w{8}","p-9"\]\}/,
  );
  t.equal(fs.statSync(copy.files[1]!).ino, untouched, 'a file that does not name her is not written');
  t.equal((fs.statSync(copy.files[0]!).mode & 0o777).toString(8), '600');
  const look = new Courier(t, copy, box.feed);
  await look.sink.readCursor();
  t.equal(look.sink.unfinished, undefined, 'once');
});

t.test('what is appended meanwhile goes to another file, and none of it is lost', async (t) => {
  const copy = new CopyingBox(t);
  const box = new ErasingBox(days(30, LAST));
  const courier = new Courier(t, copy, box.feed);
  let cursor = await courier.run(10);
  box.erase();
  cursor = await courier.sink.readCursor();
  t.ok(courier.sink.unfinished, 'it has begun');
  for (let seq = 31; seq <= 36; seq++) {
    box.lines = [...box.lines, lineOf(seq, LAST).replaceAll(ANNA, 'p-5')];
    const piece = await courier.feed.next(cursor.seq, 1);
    cursor = await courier.sink.send({ ...piece, after: cursor.seq, isLast: true }, cursor);
    t.equal(cursor.seq, seq);
  }
  await courier.sink.finish();
  t.equal(copy.copied, box.lines.join(''));
  t.strictSame(
    copy.files.map((file) => path.basename(file)),
    ['0.ndjson.gz', '30.ndjson.gz'],
  );
  box.lines = [...box.lines, lineOf(37, LAST)];
  t.match(await courier.run(), { seq: 37 });
  t.equal(copy.copied, box.lines.join(''));
  t.equal(copy.files.length, 2, 'and then it goes on in that one');
});

t.test(
  'ended at any moment, the copy is whole, does not say that it is done, and the next one goes on',
  async (t) => {
    const copy = new CopyingBox(t);
    const box = new ErasingBox([...days(12, FIRST), ...days(12, LAST, 13)]);
    await new Courier(t, copy, box.feed).run(4);
    box.erase();
    const original = path.join(copy.root, 'original');
    fs.cpSync(copy.copy, original, { recursive: true });
    const heads = (text: string) => text.match(/"seq":\d+|"event_id":"[^"]*"/g);
    const whole = heads(copy.copied);
    let reads = 0;
    box.onRead = () => reads++;
    const { sink } = new Courier(t, copy, box.feed);
    await sink.readCursor();
    await sink.finish();
    const all = reads;
    t.ok(all > 6, `${all} reads`);
    for (let end = 2; end <= all; end++) {
      fs.rmSync(copy.copy, { recursive: true });
      fs.cpSync(original, copy.copy, { recursive: true });
      let left = end;
      box.onRead = () => {
        if (left-- === 0) throw new FeedUnavailable('The box is away.');
      };
      const ended = new Courier(t, copy, box.feed);
      await ended.sink.readCursor().catch(() => {});
      await ended.sink.finish().catch(() => {});
      t.strictSame(heads(copy.copied), whole);
      if (left >= 0) continue;
      t.strictSame(copy.boxFile.erasures, []);
      t.match(ended.sink.unfinished, /cannot be written anew, .*: The box is away/);
      const partial = path.join(path.dirname(copy.files[0]!), '.0.ndjson.gz.partial');
      fs.writeFileSync(partial, 'what a kill has left');
      box.onRead = () => {};
      const next = new Courier(t, copy, box.feed);
      await next.sink.readCursor();
      await next.sink.finish();
      t.notOk(fs.existsSync(partial));
      t.equal(copy.copied, box.lines.join(''));
      t.strictSame(copy.boxFile.erasures, [ERASED_ANNA]);
    }
  },
);

t.test(
  'epochs that have ended are written anew as well, also where a restore took their events back',
  async (t) => {
    const copy = new CopyingBox(t);
    const box = new ErasingBox(days(20, FIRST));
    await new Courier(t, copy, box.feed).run(5);
    box.lines = [...box.lines.slice(0, 8), ...days(4, LAST, 9)];
    box.epochs.push({ name: 'e2', fromSeq: 8 });
    await new Courier(t, copy, box.feed).run(5);
    box.erase();
    const { sink } = new Courier(t, copy, box.feed);
    await sink.readCursor();
    await sink.finish();
    isGone(t, copy);
    const lines = copy.copied.split(/(?<=\n)/);
    t.strictSame(
      lines.map(seqOf),
      [...Array(20).keys(), 8, 9, 10, 11].map((seq) => seq + 1),
    );
    t.strictSame(lines.slice(0, 8), box.lines.slice(0, 8));
    t.strictSame(lines.slice(20), box.lines.slice(8));
  },
);

t.test('damage in a file that is written anew stays a hole, and nobody is left in it', async (t) => {
  const copy = new CopyingBox(t);
  const box = new ErasingBox(days(30, LAST));
  await new Courier(t, copy, box.feed).run(10);
  const bytes = fs.readFileSync(copy.files[0]!);
  const second = bytes.indexOf(bytes.subarray(0, 8), 1);
  bytes.fill(0, second + 20, second + 40);
  fs.writeFileSync(copy.files[0]!, bytes);
  box.erase();
  const { sink } = new Courier(t, copy, box.feed);
  await sink.readCursor();
  await sink.finish();
  t.match(await chunksOf(copy), [{ chunks: [[0, 10, 10], undefined, [10, 30, 10]] }]);
  t.notOk(fs.readFileSync(copy.files[0]!).includes(bytes.subarray(second + 40, second + 60)));
});

t.test(
  'a copy that has no list of erasures yet is read, and what a copy has applied it does not forget',
  async (t) => {
    const copy = new CopyingBox(t);
    const box = new ErasingBox(days(9, LAST));
    await new Courier(t, copy, box.feed).run();
    const { erasures: _, ...older } = copy.boxFile;
    fs.writeFileSync(path.join(copy.copy, 'box.json'), JSON.stringify(older));
    box.erase();
    const { sink } = new Courier(t, copy, box.feed);
    await sink.readCursor();
    await sink.finish();
    isGone(t, copy);
    box.erasures = [copyErasure({ ...erasureOf(ERASED_ANNA), player: Buffer.alloc(32, 7) })];
    const other = new Courier(t, copy, box.feed);
    await other.sink.readCursor();
    await other.sink.finish();
    t.strictSame(copy.boxFile.erasures, [ERASED_ANNA, ...box.erasures]);
  },
);

t.test('"player erase" reaches the copy with the next look at it', async (t) => {
  const box = new CopyingBox(t);
  const played = { session_id: 's-1', eot: '2026-03-14T15:00:00Z' };
  const hit = (player_id: string) => event({ ...played, type: 'BALL_HIT', payload: { player_id } });
  box.put(hit('p-2'), hit(ANNA), event({ ...played, note: [ANNA] }));
  box.put(event({ ...played, type: 'PLAYER_IDENTITY', payload: { player_id: ANNA, name: 'Anna' } }));
  t.match(await box.once(), { status: 0 });
  t.match(box.copied, /anna/i);
  t.match(await box.erase(ANNA), { status: 0 });
  const still = new RegExp(
    `^The copy still names who was erased on ${new Date().toISOString().slice(0, 10)}`,
  );
  t.match(await box.status(), { state: 'behind', behind_events: 0, error: still }, 'no shipper runs');
  const away = `${box.root}-away`;
  fs.renameSync(box.root, away);
  const shipper = box.ship();
  await shipper.state('connecting');
  t.match(await box.status(), {
    state: 'connecting',
    error: /cannot be written.* The copy still names who was erased/,
  });
  fs.renameSync(away, box.root);
  await shipper.state('current');
  t.match(await box.status(), { state: 'current', error: null }, 'one that runs goes on by itself');
  await shipper.stop();
  t.match(await box.status(), { state: 'current', error: null }, 'and it is known afterwards');
  t.match(await box.once(), { status: 0 });
  t.match(await box.status(), { state: 'current', error: null, shipped_seq: 4 });
  t.equal(box.copied, await box.stored());
  t.match(box.boxFile.erasures, [{ before_ns: /^\d{19}$/ }]);
  isGone(t, box);
});

import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { DataDirectory } from '../../../src/base/dataDirectory.ts';
import { RefusedBodies } from '../../../src/store/rejections/refusedBodies.ts';
import type { RefusedBody } from '../../../src/store/rejections/refusedBody.ts';
import { RefusedIndex } from '../../../src/store/rejections/refusedIndex.ts';
import { temporaryFolder } from '../../harness/daemon.ts';
import { event, events } from '../../harness/events.ts';

const MIB = 1024 ** 2;
const NOTHING_STORED = () => false;
let requests = 0;

function refusedBody(more: Partial<RefusedBody> = {}): RefusedBody {
  const bytes = Buffer.from(JSON.stringify(event({ confidence: 97 })));
  const requestId = `request-${++requests}`;
  return { requestId, receivedMs: Date.now(), code: 'invalid_event', sender: 'cam-3', bytes, ...more };
}

function keep(refused: RefusedBodies, body: RefusedBody, index = new RefusedIndex()): boolean {
  return refused.atOnce(() => refused.keep(body, index, NOTHING_STORED));
}

function sizeIn(folder: string): number {
  return fs.readdirSync(folder).reduce((sum, name) => sum + fs.statSync(path.join(folder, name)).size, 0);
}

t.test('within the bound the oldest of whoever has the most go first', (t) => {
  const [folder, bound] = [temporaryFolder(t), MIB];
  const refused = new RefusedBodies(new DataDirectory(folder), bound);
  t.teardown(() => refused.close());
  const few = [refusedBody({ sender: 'cam-1' }), refusedBody({ sender: 'cam-2' })];
  for (const body of few) t.ok(keep(refused, body));
  const many = Array.from({ length: 200 }, () =>
    refusedBody({ bytes: Buffer.from(JSON.stringify(events(400))) }),
  );
  const sizes = many.map((body) => {
    t.ok(keep(refused, body));
    return sizeIn(folder);
  });
  t.ok(Math.max(...sizes) <= bound, 'as files, the write-ahead log included');
  const left = [...refused.bodies()].map(({ requestId }) => requestId);
  t.strictSame(
    left.slice(0, 2),
    few.map(({ requestId }) => requestId),
  );
  const ofMany = many.map(({ requestId }) => requestId);
  t.strictSame(left.slice(2), ofMany.slice(200 - (left.length - 2)), 'the newest of the many');
  t.ok(left.length > 20 && left.length < 200, `${left.length} are kept`);
  t.notOk(keep(refused, refusedBody({ bytes: randomBytes(MIB) })), 'larger than the bound');
  t.equal([...refused.bodies()].length, left.length);
  t.end();
});

t.test('the same body is kept once', (t) => {
  const folder = temporaryFolder(t);
  const refused = new RefusedBodies(new DataDirectory(folder));
  t.teardown(() => refused.close());
  const [body, index] = [refusedBody(), new RefusedIndex()];
  for (let i = 0; i < 3; i++) t.ok(keep(refused, { ...body, requestId: `again-${i}` }, index));
  t.strictSame(refused.waiting(), [{ sender: 'cam-3', events: 1, sinceMs: body.receivedMs }]);
  // After a restart as well.
  const again = new RefusedIndex();
  refused.fill(again);
  t.ok(keep(refused, body, again));
  t.strictSame(
    [...refused.bodies()].map(({ requestId }) => requestId),
    ['again-0'],
  );
  t.end();
});

t.test('a power cut anywhere in what was written last leaves what was there before, whole', (t) => {
  const folder = temporaryFolder(t);
  const refused = new RefusedBodies(new DataDirectory(folder));
  t.teardown(() => refused.close());
  const bodies = Array.from({ length: 6 }, () => refusedBody());
  const wal = `${path.join(folder, 'refused.db')}-wal`;
  const ends = bodies.map((body) => {
    keep(refused, body);
    return fs.statSync(wal).size;
  });
  const [file, log] = [fs.readFileSync(path.join(folder, 'refused.db')), fs.readFileSync(wal)];
  const torn = temporaryFolder(t);
  const cuts = Array.from({ length: (log.length - ends[0]!) / 509 }, (_, i) => ends[0]! + 509 * i);
  for (const at of [...cuts, ...ends.slice(1).flatMap((end) => [end - 1, end, end + 1])]) {
    fs.writeFileSync(path.join(torn, 'refused.db'), file);
    fs.writeFileSync(`${path.join(torn, 'refused.db')}-wal`, log.subarray(0, at));
    const again = new RefusedBodies(new DataDirectory(torn));
    const expected = bodies.slice(0, ends.filter((end) => end <= at).length);
    const found = [...again.bodies()].map(({ requestId }) => requestId);
    again.close();
    t.strictSame(
      found,
      expected.map(({ requestId }) => requestId),
      `cut at ${at}`,
    );
  }
  t.end();
});

t.test('after thirty days they are old, whatever the clock has said in between', (t) => {
  const refused = new RefusedBodies(new DataDirectory(temporaryFolder(t)));
  t.teardown(() => refused.close());
  const nowMs = Date.now();
  for (const ageMs of [3_000, 2_000, 1_000]) keep(refused, refusedBody({ receivedMs: nowMs - ageMs }));
  const old = refused.older({ beforeMs: nowMs - 1_500, nowMs });
  t.equal(old.length, 2);
  refused.remove(old);
  t.equal([...refused.bodies()].length, 1);
  t.end();
});

t.test('what a killed daemon has left in the log is written anew and synced before it is opened', (t) => {
  const [folder, left] = [temporaryFolder(t), temporaryFolder(t)];
  const before = new RefusedBodies(new DataDirectory(folder));
  t.teardown(() => before.close());
  keep(before, refusedBody());
  fs.cpSync(folder, left, { recursive: true });
  const { size } = fs.statSync(path.join(left, 'refused.db-wal'));
  const [writes, syncs] = [
    t.capture(fs, 'writeSync', fs.writeSync),
    t.capture(fs, 'fsyncSync', fs.fsyncSync),
  ];
  const after = new RefusedBodies(new DataDirectory(left));
  t.match(writes(), [{ args: [Number, Buffer, 0, size, 0], returned: size }]);
  t.ok(syncs().length > 0);
  t.equal([...after.bodies()].length, 1);
  after.giveUp();
  t.equal(writes().length, 1, 'and so before it is given up');
  t.end();
});

t.test('a log that could not be synced when the file was opened is written anew before it is closed', (t) => {
  const [folder, left] = [temporaryFolder(t), temporaryFolder(t)];
  const before = new RefusedBodies(new DataDirectory(folder));
  t.teardown(() => before.close());
  keep(before, refusedBody());
  fs.cpSync(folder, left, { recursive: true });
  const writes = t.capture(fs, 'writeSync', fs.writeSync);
  const syncs = t.capture(fs, 'fsyncSync', () => {
    if (syncs().length === 0) throw new Error('EIO: i/o error, fsync');
  });
  t.throws(() => new RefusedBodies(new DataDirectory(left)), /EIO/);
  t.equal(writes().length, 2);
  t.end();
});

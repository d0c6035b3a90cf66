import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import t, { type Test } from 'tap';
import { DataDirectory } from '../../../src/base/dataDirectory.ts';
import { packMember } from '../../../src/fleet/copy/members.ts';
import { LocalFeed } from '../../../src/fleet/feed/localFeed.ts';
import { seqOf } from '../../../src/fleet/log/chunk.ts';
import type { Epoch } from '../../../src/store/layout/epochs.ts';
import { BIN, courtd, start, temporaryFolder } from '../../harness/daemon.ts';
import { events } from '../../harness/events.ts';
import { runInProcess } from '../../harness/inProcess.ts';
import { NatsServers } from '../../harness/nats.ts';
import { missingNats } from '../../harness/natsProgram.ts';
import { Box } from '../ship/box.ts';
import { CopyingBox } from '../ship/copied.ts';
import { digestOf, gapsOf, Headquarters } from '../ship/headquarters.ts';

runInProcess();

const skip = await missingNats();
// Of all: a dozen seconds, on a machine that has nothing else to do.
t.setTimeout(300_000);

async function headquarters(t: Test, config = '') {
  const servers = await NatsServers.start(t, { config });
  const hq = await Headquarters.connect(t, servers.url);
  await hq.init();
  const carry = async (...args: string[]) => {
    const { status, stdout, stderr } = await courtd(['fleet', 'import', ...args, servers.url, '--json']);
    return { status, stderr, carried: stdout === '' ? [] : JSON.parse(stdout) };
  };
  const boxOf = (name: string, data = temporaryFolder(t)) =>
    new Box(t, data, { COURTD_SHIP_URL: servers.url, COURTD_SHIP_BOX: name });
  return { servers, hq, carry, boxOf };
}

async function epochsOf(box: Box): Promise<readonly Epoch[]> {
  const feed = new LocalFeed(new DataDirectory(box.data));
  const { epochs } = await feed.state();
  await feed.close();
  return epochs;
}

/** Writes what a box has as its copy: an epoch in one file, or in one for each chunk. @param sizes events of each chunk. */
class Stick {
  readonly folder: string;
  readonly #box: Box;

  constructor(t: Test, box: Box, root = temporaryFolder(t)) {
    this.#box = box;
    this.folder = path.join(root, box.env.COURTD_SHIP_BOX!);
    fs.mkdirSync(this.folder);
  }

  /** @returns the files. @param after the seq behind which the current epoch begins on the stick. */
  async write(sizes: readonly number[], after = 0, isSplit = false): Promise<string[]> {
    const epochs = await epochsOf(this.#box);
    const epoch = epochs.at(-1)!.name;
    const about = {
      box: path.basename(this.folder),
      venue: null,
      epoch,
      epochs,
      version: '1',
      tokens: null,
      erasures: [],
    };
    fs.writeFileSync(path.join(this.folder, 'box.json'), JSON.stringify(about));
    fs.rmSync(path.join(this.folder, epoch), { recursive: true, force: true });
    fs.mkdirSync(path.join(this.folder, epoch));
    const lines = await this.#box.lines(after);
    const files: string[] = [];
    let last = after;
    for (const size of sizes) {
      const some = lines.splice(0, size);
      if (isSplit || files.length === 0) files.push(path.join(this.folder, epoch, `${last}.ndjson.gz`));
      fs.appendFileSync(files.at(-1)!, await packMember(some.join('')));
      last = seqOf(some.at(-1)!);
    }
    return files;
  }
}

t.test('a stick is carried chunk by chunk, once, and the box goes on behind it', { skip }, async (t) => {
  const { servers, hq, carry, boxOf } = await headquarters(t);
  const box = boxOf('venue-7');
  box.put(...events(24));
  const stick = new Stick(t, box);
  const [file] = await stick.write([10, 3, 4, 7]);
  const first = await carry(stick.folder);
  t.strictSame(first, {
    status: 0,
    stderr: '',
    carried: [{ box: 'venue-7', events: 24, chunks: 4, there: 0, holes: 0, last_seq: 24, left_out: 0 }],
  });
  const messages = await hq.messages('venue-7');
  t.strictSame(
    messages.map(({ after, last }) => [after, last]),
    [
      [0, 10],
      [10, 13],
      [13, 17],
      [17, 24],
    ],
  );
  const [{ name }] = (await epochsOf(box)) as [Epoch];
  t.ok(messages.every(({ epoch }) => epoch === name));
  t.match((await carry(stick.folder)).carried, [{ events: 0, chunks: 0, there: 24, last_seq: 24 }]);

  box.put(...events(5));
  t.match(await box.once(), { status: 0 });
  const all = await hq.messages('venue-7');
  t.strictSame(gapsOf(all), []);
  t.strictSame(
    all.flatMap(({ lines }) => lines),
    await box.lines(),
    'nothing twice, and nothing left out',
  );
  t.match((await carry(stick.folder)).carried, [{ events: 0, there: 24, last_seq: 29 }], 'an older stick');

  // A stick that was filled meanwhile, in chunks of its own, and pulled while the next was written.
  box.put(...events(6));
  const [longer] = await stick.write([15, 16, 4]);
  t.equal(longer, file);
  fs.appendFileSync(longer!, (await packMember('x'.repeat(99))).subarray(0, -1));
  const torn = await carry(stick.folder);
  t.match(torn, { status: 0, stderr: /^courtd: .*is damaged from byte \d+ to \d+: that is left out\.\n$/ });
  t.match(torn.carried, [{ events: 6, chunks: 2, there: 29, last_seq: 35 }]);
  t.strictSame(
    (await hq.messages('venue-7')).flatMap(({ lines }) => lines),
    await box.lines(),
  );
  const people = await courtd(['fleet', 'import', stick.folder, servers.url]);
  t.equal(people.stdout, 'venue-7: 0 events carried in 0 chunks, up to seq 35; 35 events were there.\n');
});

t.test(
  'an import that is killed again and again carries what the shipper has copied, once',
  { skip },
  async (t) => {
    const { servers, hq, carry, boxOf } = await headquarters(t);
    const stick = new CopyingBox(t);
    stick.put(...events(20_000));
    t.match(await stick.once(), { status: 0 });
    const kills = 6;
    let killed = 0;
    for (let kill = 0; kill < kills; kill++) {
      const child = start(BIN, ['fleet', 'import', stick.copy, servers.url]);
      const exited = once(child, 'exit');
      // It is at its work once something has come.
      const before = await hq.count();
      while ((await hq.count()) <= before && child.exitCode === null);
      child.kill('SIGKILL');
      const [, signal] = await exited;
      if (signal === 'SIGKILL') killed++;
    }
    t.ok(killed > 0, `${killed} killed in the middle`);
    t.match(await carry(stick.copy), { status: 0, carried: [{ last_seq: 20_000 }] });
    const messages = await hq.messages('venue-7');
    t.strictSame(gapsOf(messages), []);
    t.equal(digestOf(messages.flatMap(({ lines }) => lines)), digestOf(await stick.lines()));
    const line = boxOf('venue-7', stick.data);
    t.match(await line.once(), { status: 0 });
    t.equal((await hq.messages('venue-7')).length, messages.length, 'over a line there is nothing to add');
  },
);

t.test('a hole is an error that names both seqs, and what is before it is there', { skip }, async (t) => {
  const { servers, hq, carry, boxOf } = await headquarters(t);
  const box = boxOf('venue-7');
  box.put(...events(20));
  const stick = new Stick(t, box);
  const [first, second] = await stick.write([5, 5, 5, 5], 0, true);
  fs.rmSync(second!);
  const broken = await carry(stick.folder);
  t.equal(broken.status, 1);
  t.match(broken.stderr, /5 events carried in 1 chunk, up to seq 5\. Done again it goes on/);
  t.match(
    broken.stderr,
    /of venue-7 are missing in the copy between seq 5, .* and seq 11: A file is missing/,
  );
  t.equal((await hq.messages('venue-7')).length, 1);
  // The box has them: over a line, and the stick does the rest.
  t.match(await box.once(), { status: 0 });
  t.match((await carry(stick.folder)).carried, [{ events: 0, there: 15, last_seq: 20 }]);

  await t.test('of what was pruned on the stick nothing has the beginning', async (t) => {
    const other = new Stick(t, boxOf('venue-8', box.data));
    await other.write([5, 5, 5, 5], 0, true);
    fs.rmSync(path.join(other.folder, path.basename(path.dirname(first!)), path.basename(first!)));
    t.match(await carry(other.folder), {
      status: 1,
      stderr: /between seq 0, .* and seq 6: .*begins behind seq 5/,
    });
    const { carried, stderr } = await carry('--allow-holes', other.folder);
    t.match(carried, [{ events: 15, chunks: 3, holes: 1, last_seq: 20 }]);
    t.match(stderr, /between seq 0/);
    t.strictSame(gapsOf(await hq.messages('venue-8')), [], 'as where a box ships after a prune');
  });
  t.match(await servers.check(), { status: 0 });
});

t.test(
  'a clone that has shipped under the same name is found, and nothing is carried',
  { skip },
  async (t) => {
    const { hq, carry, boxOf } = await headquarters(t);
    const box = boxOf('venue-7');
    box.put(...events(4));
    const data = path.join(temporaryFolder(t), 'clone');
    fs.cpSync(box.data, data, { recursive: true });
    const clone = boxOf('venue-7', data);
    clone.put(...events(3, { source: 'camera-9' }));
    t.match(await clone.once(), { status: 0 });
    const before = await hq.messages('venue-7');
    box.put(...events(9));
    const stick = new Stick(t, box);
    await stick.write([6, 7]);
    const fenced = await carry(stick.folder);
    t.match(fenced, { status: 1, carried: [], stderr: /^courtd: Headquarters has other events of venue-7/ });
    t.strictSame(await hq.messages('venue-7'), before);
  },
);

t.test('epochs of a box that was restored are carried in their order', { skip }, async (t) => {
  const { servers, hq, carry, boxOf } = await headquarters(t);
  const box = boxOf('venue-7');
  box.put(...events(8));
  const backups = temporaryFolder(t);
  t.match(await box.command('backup', backups), { status: 0 });
  box.put(...events(4));
  const stick = new Stick(t, box);
  await stick.write([6, 6]);
  const [backup] = fs.readdirSync(backups);
  t.match(await box.command('restore', path.join(backups, backup!)), { status: 0 });
  box.put(...events(5));
  const [, second] = await epochsOf(box);
  await stick.write([5], second!.fromSeq);
  // Of a backup that another one has replaced.
  const replaced = path.join(stick.folder, 'replaced');
  fs.mkdirSync(replaced);
  fs.writeFileSync(path.join(replaced, '3.ndjson.gz'), await packMember((await box.lines(3)).join('')));
  const { status, carried, stderr } = await carry(path.dirname(stick.folder));
  t.equal(status, 0, stderr);
  t.match(carried, [{ box: 'venue-7', events: 17, chunks: 3 }]);
  t.match(stderr, /^courtd: The epoch replaced is left out/);
  const messages = await hq.messages('venue-7');
  t.equal(new Set(messages.map(({ epoch }) => epoch)).size, 2);
  t.match(messages.at(-1), { epoch: second!.name, after: second!.fromSeq });
  box.put(...events(1));
  t.match(await box.once(), { status: 0 });
  const own = (await hq.messages('venue-7')).filter(({ epoch }) => epoch === second!.name);
  t.strictSame(
    own.flatMap(({ lines }) => lines),
    await box.lines(second!.fromSeq),
  );
  t.match(await servers.check(), { status: 0 });
});

t.test(
  'what is too large for headquarters goes in parts, and what never fits is left out',
  { skip },
  async (t) => {
    const { hq, carry, boxOf } = await headquarters(t, 'max_payload: 8KB');
    const box = boxOf('venue-7');
    const noise = (bytes: number) => ({ payload: { noise: randomBytes(bytes).toString('base64') } });
    box.put(...events(5, noise(2_000)), ...events(1, noise(20_000)), ...events(2));
    const stick = new Stick(t, box);
    await stick.write([6, 2]);
    const { carried, stderr } = await carry(stick.folder);
    t.match(carried, [{ events: 7, left_out: 1, last_seq: 8 }]);
    t.match(stderr, /^courtd: seq 6 of venue-7 is left out: .*max_payload/);
    const messages = await hq.messages('venue-7');
    t.strictSame(gapsOf(messages), []);
    const lines = await box.lines();
    t.strictSame(
      messages.flatMap(({ lines }) => lines),
      lines.toSpliced(5, 1),
    );
  },
);

t.test('a directory of several boxes; and what is none, or no headquarters', { skip }, async (t) => {
  const { carry, boxOf } = await headquarters(t);
  const root = temporaryFolder(t);
  for (const name of ['venue-1', 'venue-2']) {
    const box = boxOf(name);
    box.put(...events(3));
    await new Stick(t, box, root).write([3]);
  }
  t.match((await carry(root)).carried, [
    { box: 'venue-1', events: 3 },
    { box: 'venue-2', events: 3 },
  ]);
  t.match(await carry(temporaryFolder(t)), { status: 1, stderr: /has no copy of a box/ });
  t.match(await carry(path.join(root, 'venue-3')), { status: 1, stderr: /Cannot read .*no such file/ });
  const elsewhere = await NatsServers.start(t);
  const none = await courtd(['fleet', 'import', root, elsewhere.url]);
  t.match(none, {
    status: 1,
    stdout: '',
    stderr: /The streams of a fleet are not here: "courtd fleet init"/,
  });
});

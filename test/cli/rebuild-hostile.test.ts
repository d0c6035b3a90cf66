import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { packMember } from '../../src/fleet/copy/members.ts';
import { temporaryFolder } from '../harness/daemon.ts';
import { ERASED_ANNA } from '../harness/erasure.ts';
import { event } from '../harness/events.ts';
import { commandInProcess, runInProcess } from '../harness/inProcess.ts';

runInProcess();

/** A rebuild from a copy that is damaged, or was made by somebody else. */

const folder = temporaryFolder(t);
let made = 0;

function member(from: number, to: number): Promise<Buffer> {
  const lines = Array.from({ length: to - from + 1 }, (_, i) => {
    const received_at = new Date(Date.UTC(2026, 10, 1) + from + i).toISOString();
    return `${JSON.stringify({ seq: from + i, received_at, event: event({ event_id: `e-${from + i}` }) })}\n`;
  });
  return packMember(lines.join(''));
}

const TOKEN = { id: 1, hash: 'ab'.repeat(32), created_ms: 1, expires_ms: null, revoked_ms: null };
const BOX = {
  box: 'venue-7',
  venue: null,
  epoch: 'b2',
  epochs: [
    { name: 'a1', fromSeq: 0 },
    { name: 'b2', fromSeq: 20 },
  ],
  version: '1.0.0',
  tokens: [{ ...TOKEN, state: 'active' }],
};

/** @returns ROOT/BOX: seq 1 to 20 in the epoch a1, and to 30 in b2. */
async function copyOf(box?: unknown): Promise<string> {
  const root = path.join(folder, `copy-${++made}`);
  for (const [name, bytes] of [
    ['a1/0', Buffer.concat([await member(1, 10), await member(11, 20)])],
    ['b2/20', await member(21, 30)],
  ] as const) {
    fs.mkdirSync(path.join(root, path.dirname(name)), { recursive: true });
    fs.writeFileSync(path.join(root, `${name}.ndjson.gz`), bytes);
  }
  if (box !== undefined) fs.writeFileSync(path.join(root, 'box.json'), JSON.stringify(box));
  return root;
}

const rebuild = (...args: string[]) =>
  commandInProcess(['rebuild', ...args, '--data', path.join(folder, `data-${++made}`)]);

t.test('a box.json that courtd has not written is refused in a sentence', async (t) => {
  const [first] = BOX.epochs;
  for (const [member, value] of [
    ['box', '../../etc'],
    ['box', 'venue-7\n\u001b[31m'],
    ['epochs', {}],
    ['epochs', [null]],
    ['epochs', [{ ...first, name: ['a1'] }]],
    ['epochs', [{ ...first, name: '__proto__' }]],
    ['epochs', [first, first]],
    ['epochs', [{ ...first, fromSeq: 0.5 }]],
    ['tokens', {}],
    ['tokens', [null]],
    ['tokens', [{ ...TOKEN, hash: [TOKEN.hash] }]],
    ['tokens', [TOKEN, { ...TOKEN, id: 2 }]],
    ['tokens', [TOKEN, { ...TOKEN, hash: 'cd'.repeat(32) }]],
    ['tokens', [{ ...TOKEN, revoked_ms: '1' }]],
    ['erasures', null],
    ['erasures', [{ ...ERASED_ANNA, key: 'AB'.repeat(16) }]],
    ['erasures', [{ ...ERASED_ANNA, player: 'ab' }]],
    ['erasures', [{ ...ERASED_ANNA, before_ns: 1 }]],
    ['erasures', [{ ...ERASED_ANNA, before_ns: '9223372036854775808' }]],
    ['erasures', [{ ...ERASED_ANNA, at_ms: 0.5 }]],
    ['erasures', [ERASED_ANNA, { ...ERASED_ANNA, before_ns: '0' }]],
  ] as const) {
    const copy = await copyOf({ ...BOX, [member]: value });
    const { status, stderr } = await rebuild(copy);
    t.equal(status, 1, JSON.stringify(value));
    t.match(
      stderr,
      new RegExp(`^courtd: \\S*/box\\.json is damaged: its "${member}" is not what [^\\n]*\\n$`),
    );
    fs.rmSync(path.join(copy, 'box.json'));
    t.match(await rebuild(copy), { status: 0, stderr: /: 30 events .*\nNo tokens came with it/ });
  }
});

t.test('a pipe in the place of a file is not waited for', async (t) => {
  const copy = await copyOf();
  execFileSync('mkfifo', [path.join(copy, 'box.json')]);
  t.match(await rebuild(copy), { status: 1, stderr: /box\.json is damaged/ });
  fs.rmSync(path.join(copy, 'box.json'));
  const file = path.join(copy, 'b2/20.ndjson.gz');
  fs.rmSync(file);
  execFileSync('mkfifo', [file]);
  t.match(await rebuild(copy), { status: 1, stderr: /^courtd: Cannot read .*b2/ });
});

t.test('an epoch of which nothing can be read is a hole, also the first', async (t) => {
  const copy = await copyOf(BOX);
  fs.writeFileSync(path.join(copy, 'a1/0.ndjson.gz'), Buffer.alloc(5_000, 7));
  t.match(await rebuild(copy), { status: 1, stderr: /Events between seq 0 and seq 21 are missing: / });
  t.match(await rebuild(copy, '--allow-holes'), {
    status: 0,
    stderr: /: 10 events .*\nLeft out: .* 1 place/,
  });
});

t.test('an epoch that is left out is said', async (t) => {
  const copy = await copyOf(BOX);
  fs.renameSync(path.join(copy, 'b2'), path.join(copy, 'B2'));
  t.match(await rebuild(copy), {
    status: 0,
    stderr: /^courtd: The epoch B2 is left out: .*\n.*: 20 events /,
  });
});

t.test('a file that is named twice is read once; what is in a copy twice is no hole', async (t) => {
  const copy = await copyOf(BOX);
  const file = path.join(copy, 'a1/0.ndjson.gz');
  t.match(await rebuild(copy, file, path.join(copy, 'a1')), { status: 0, stderr: /: 30 events / });
  fs.appendFileSync(file, await member(11, 20));
  const { status, stderr } = await rebuild(copy, '--allow-holes');
  t.equal(status, 1);
  t.match(stderr, /has events twice behind seq 20: this is not in the order of arrival/);
  t.notMatch(stderr, 'missing');
});

t.test('files in a folder of another name than their epoch do not name one', async (t) => {
  const copy = await copyOf();
  const elsewhere = path.join(copy, 'usb backup');
  fs.renameSync(path.join(copy, 'a1'), elsewhere);
  const { status, stdout } = await rebuild(elsewhere, '--json');
  t.equal(status, 0);
  t.match(JSON.parse(stdout), { events: 20, follows_epoch: false });
});

t.test('the copy of a box that has no events yet has none', async (t) => {
  const copy = await copyOf(BOX);
  fs.rmSync(path.join(copy, 'a1'), { recursive: true });
  fs.rmSync(path.join(copy, 'b2/20.ndjson.gz'));
  t.match(await rebuild(copy), { status: 1, stderr: /There are no events in what was given/ });
});

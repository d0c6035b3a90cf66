import fs from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';
import t from 'tap';
import { BODY_BYTES } from '../../src/base/limits.ts';
import { Daemon, temporaryFolder } from '../harness/daemon.ts';
import { event, events, eventText } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { serveAgain } from '../harness/servingAgain.ts';

runInProcess();
serveAgain();

const folder = temporaryFolder(t);

function file(name: string, content: string | Uint8Array): string {
  fs.writeFileSync(path.join(folder, name), content);
  return path.join(folder, name);
}

const linesOf = (sent: readonly unknown[]) => sent.map((one) => `${JSON.stringify(one)}\n`).join('');

/** @returns what `import --json` printed. */
async function imported(box: Daemon, ...args: string[]) {
  const { stdout } = await box.command('import', '--json', ...args);
  return JSON.parse(stdout);
}

t.test('plain and gzip files are stored as they were sent, each event once however often', async (t) => {
  const box = await Daemon.start(t);
  const sent = [...events(703), event({ event_id: 'rare', payload: { n: [1e10, 'Ü\u2028'] }, extra: {} })];
  const plain = file('plain', linesOf(sent.slice(0, 400)).replaceAll('\n', '\r\n\n'));
  const members = [sent.slice(0, 350), sent.slice(350)].map((some) => zlib.gzipSync(linesOf(some)));
  const packed = file('packed.txt', Buffer.concat(members));
  const noEnd = file('no-end', linesOf([{ ...sent[0], payload: {} }]).trimEnd());
  t.match(await box.command('import', plain), { status: 0, stdout: '', stderr: /400 accepted, 0 dup/ });
  const counts = { events: 1_105, accepted: 304, duplicates: 801, conflicts: 1, dry_run: false };
  t.match(await imported(box, packed, noEnd, plain), counts);
  const exported = await box.exported('session-1');
  t.strictSame(
    exported.map((line) => JSON.parse(line)),
    sent,
  );
  t.match(await imported(box, file('export', `${exported.join('\n')}\n`)), { duplicates: 704, conflicts: 0 });
  t.match(await imported(box, file('empty', '')), { events: 0, accepted: 0, files: [{ fault: null }] });
});

t.test('gzip that was cut short, is damaged, or has something behind it is a fault', async (t) => {
  const box = await Daemon.start(t);
  const packed = zlib.gzipSync(linesOf(events(500)));
  for (const [name, bytes, message] of [
    ['cut', packed.subarray(0, packed.length * 0.7), /:\d+: the gzip data ends too early/],
    ['no trailer', packed.subarray(0, -3), /:501: the gzip data ends too early/],
    ['head', packed.subarray(0, 5), /: the gzip data ends too early/],
    ['sum', Buffer.concat([packed.subarray(0, -8), Buffer.alloc(8)]), /:\d+: the gzip data is damaged/],
    ['behind', Buffer.concat([packed, Buffer.alloc(1), packed]), /:501: behind the gzip data/],
  ] as const) {
    const { status, stderr } = await box.command('import', '--dry-run', file(name, bytes));
    t.equal(status, 1, name);
    t.match(stderr, message);
  }
  await box.command('import', path.join(folder, 'cut'));
  const stored = await box.exported('session-1');
  t.ok(stored.length >= 300, `${stored.length} of what could be unpacked`);
});

t.test('a line may hold the largest event, and a box with a small limit gets smaller requests', async (t) => {
  const [box, small] = [await Daemon.start(t), await Daemon.start(t, ['--body-limit', '2000'])];
  const large = (bytes: number) => {
    const text = (note: string) => eventText({ payload: JSON.stringify({ note }) });
    return `{"seq":1,"event":${text('x'.repeat(bytes - Buffer.byteLength(text(''))))}}`;
  };
  t.match(await imported(box, file('largest', large(BODY_BYTES))), { accepted: 1 });
  t.match(await imported(box, file('larger', large(BODY_BYTES + 1))), { files: [{ fault: { line: 1 } }] });
  t.match(await imported(small, file('many', linesOf(events(250)))), { accepted: 250 });
  t.match(await imported(small, file('too-large', large(2_001))), { files: [{ fault: { line: 1 } }] });
});

import fs from 'node:fs';
import path from 'node:path';
import t, { type Test } from 'tap';
import { type CopiedEpoch, findCopy } from '../../../src/fleet/copy/copyFiles.ts';
import { packMember, readParts } from '../../../src/fleet/copy/members.ts';
import { readEpoch } from '../../../src/fleet/copy/readCopy.ts';
import { temporaryFolder } from '../../harness/daemon.ts';

const line = (seq: number) =>
  `{"seq":${seq},"received_at":"2026-11-23T10:00:00.000Z","event":{"seq":${seq}}}\n`;
const linesOf = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => line(from + i));
const member = (from: number, to: number) => packMember(linesOf(from, to).join(''));

/** ROOT/BOX with these files: their bytes by EPOCH/NAME. */
function boxFolder(t: Test, files: Record<string, Uint8Array>): string {
  const folder = path.join(temporaryFolder(t), 'venue-7');
  for (const [name, bytes] of Object.entries(files)) {
    fs.mkdirSync(path.join(folder, path.dirname(name)), { recursive: true });
    fs.writeFileSync(path.join(folder, name), bytes);
  }
  return folder;
}

t.test('a file that ends anywhere gives every whole member, and the rest as a torn tail', async (t) => {
  const [one, two] = [await member(1, 3), await member(4, 4)];
  const file = path.join(temporaryFolder(t), '0.ndjson.gz');
  const wrong: number[] = [];
  const whole = Buffer.concat([one, two]);
  for (let size = 0; size <= whole.length; size++) {
    fs.writeFileSync(file, whole.subarray(0, size));
    const parts = await Array.fromAsync(readParts({ path: file, after: 0 }), ({ from, to, chunk }) => [
      from,
      to,
      chunk?.lines.length,
    ]);
    const expected = [
      ...(size >= one.length ? [[0, one.length, 3]] : size > 0 ? [[0, size, undefined]] : []),
      ...(size === whole.length
        ? [[one.length, size, 1]]
        : size > one.length
          ? [[one.length, size, undefined]]
          : []),
    ];
    if (JSON.stringify(parts) !== JSON.stringify(expected)) wrong.push(size);
  }
  t.strictSame(wrong, []);
});

t.test('a changed byte anywhere costs the member that it is in, and no other', async (t) => {
  const members = [await member(1, 3), await member(4, 4), await member(5, 9)];
  const whole = Buffer.concat(members);
  const from = members[0]!.length;
  const file = path.join(temporaryFolder(t), '0.ndjson.gz');
  const wrong: number[] = [];
  // Byte 8 and 9 of a header say how hard zlib has tried, and on which system.
  for (let at = from; at < from + members[1]!.length; at++) {
    if (at - from === 8 || at - from === 9) continue;
    const bytes = Buffer.from(whole);
    bytes[at]! ^= 0x55;
    fs.writeFileSync(file, bytes);
    const parts = await Array.fromAsync(
      readParts({ path: file, after: 0 }),
      ({ chunk }) => chunk?.lines.length ?? 0,
    );
    if (JSON.stringify(parts) !== '[3,0,5]') wrong.push(at - from);
  }
  t.strictSame(wrong, []);
});

t.test('a large chunk, and what is no log, are read in pieces', async (t) => {
  const noise = Array.from({ length: 400_000 }, (_, i) => ((i * 2654435761) % 2 ** 32).toString(36)).join('');
  const large = `{"seq":1,"event":{"a":"${noise}"}}\n`;
  const bytes = [await packMember(large), Buffer.alloc(3_000_001, 0x1f), await member(2, 4)];
  const file = path.join(temporaryFolder(t), '0.ndjson.gz');
  fs.writeFileSync(file, Buffer.concat(bytes));
  t.strictSame(
    await Array.fromAsync(readParts({ path: file, after: 0 }), ({ from, to }) => to - from),
    bytes.map(({ length }) => length),
  );
  const [first] = await Array.fromAsync(readParts({ path: file, after: 0 }));
  t.strictSame(first!.chunk!.lines, [large]);
  t.strictSame(first!.data, bytes[0]);
});

t.test('a file that begins before the end of the one before it is named with its first chunk', async (t) => {
  const twice = boxFolder(t, { 'e1/0.ndjson.gz': await member(1, 5), 'e1/3.ndjson.gz': await member(4, 6) });
  const [epoch] = (await findCopy([twice])).epochs;
  const chunks = await Array.fromAsync(readEpoch(epoch!, () => {}));
  t.match(chunks, [{ hole: undefined }, { hole: /begins behind seq 3, and .* reaches seq 5/ }]);
});

t.test('epochs stand in the order of box.json, and count up to where the next begins', async (t) => {
  const files = {
    'zz/0.ndjson.gz': await member(1, 9),
    'aa/5.ndjson.gz': await member(6, 7),
    'mm/4.ndjson.gz': await member(5, 5),
  };
  const named = ({ name, upTo }: CopiedEpoch) => [name, upTo];
  const folder = boxFolder(t, files);
  t.strictSame((await findCopy([folder])).epochs.map(named), [
    ['zz', 4],
    ['mm', 5],
    ['aa', Number.POSITIVE_INFINITY],
  ]);
  const epochs = [
    { name: 'zz', fromSeq: 0 },
    { name: 'aa', fromSeq: 5 },
    { name: 'mm', fromSeq: 4 },
    { name: 'new', fromSeq: 5 },
  ];
  const file = { box: 'venue-7', venue: null, epoch: 'new', epochs, version: '1.0.0', tokens: [] };
  fs.writeFileSync(path.join(folder, 'box.json'), JSON.stringify(file));
  const { epochs: found, box } = await findCopy([folder]);
  t.strictSame(found.map(named), [
    ['zz', 4],
    ['aa', 4],
    ['mm', 5],
  ]);
  t.match(box, { box: 'venue-7', epochs });
  t.strictSame(
    (await findCopy([path.join(folder, 'aa/5.ndjson.gz')])).epochs.map(({ name }) => name),
    ['aa'],
  );
  t.strictSame(
    (await findCopy([path.join(folder, 'zz')])).epochs.map(({ files }) => files.length),
    [1],
  );
  for (const none of [temporaryFolder(t), path.join(folder, 'none')])
    t.match(await findCopy([none]).catch(({ message }) => message), none);
});

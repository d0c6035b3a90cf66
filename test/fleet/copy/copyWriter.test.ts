import fs from 'node:fs';
import promises from 'node:fs/promises';
import path from 'node:path';
import t from 'tap';
import { append, CHUNKS_AT_ONCE, findEnd, settle } from '../../../src/fleet/copy/copyWriter.ts';
import { packMember } from '../../../src/fleet/copy/members.ts';
import { temporaryFolder } from '../../harness/daemon.ts';

const line = (seq: number) =>
  `{"seq":${seq},"received_at":"2026-11-23T10:00:00.000Z","event":{"seq":${seq}}}\n`;

t.test(
  'what another writer has left is written anew before it counts: its sync may have failed',
  async (t) => {
    const folder = temporaryFolder(t);
    const file = path.join(folder, '0.ndjson.gz');
    const members = await Promise.all(
      Array.from({ length: CHUNKS_AT_ONCE + 5 }, (_, i) => packMember(line(i + 1))),
    );
    await append(file, Buffer.concat(members));
    const before = fs.readFileSync(file);
    const end = await findEnd(folder, undefined);
    t.match(end, { bytes: before.length, unsyncedFrom: Buffer.concat(members.slice(0, 5)).length });
    fs.utimesSync(file, 1, 1);
    await settle(folder, end);
    t.ok(fs.statSync(file).mtimeMs > 1_000, 'it was written');
    t.strictSame(fs.readFileSync(file), before);
  },
);

t.test('what this writer has synced itself is not written anew', async (t) => {
  const folder = temporaryFolder(t);
  const file = path.join(folder, '0.ndjson.gz');
  const written = await append(file, await packMember(line(1)));
  const { chunk, day } = (await findEnd(folder, undefined))!;
  const known = { ...written, chunk, day };
  fs.utimesSync(file, 1, 1);
  t.equal(await findEnd(folder, known), known);
  await settle(folder, known);
  t.equal(fs.statSync(file).mtimeMs, 1_000);
});

t.test(
  'a new file whose name cannot be synced goes again: another sync of it might do nothing',
  async (t) => {
    const folder = temporaryFolder(t);
    const file = path.join(folder, '0.ndjson.gz');
    const { open } = promises;
    t.teardown(() => Object.assign(promises, { open }));
    promises.open = (async (name: string, ...more: [number, number]) => {
      if (name === folder) throw Object.assign(new Error('EIO: i/o error'), { code: 'EIO' });
      return open(name, ...more);
    }) as typeof open;
    await t.rejects(append(file, await packMember(line(1))), { code: 'EIO' });
    t.notOk(fs.existsSync(file));
  },
);

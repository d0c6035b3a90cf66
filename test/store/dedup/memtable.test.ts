import t from 'tap';
import { type KeyEntry, Memtable, mix } from '../../../src/store/dedup/memtable.ts';

/** Some are alike in all but one of their numbers. */
function keys(count: number, firstSeq = 1): KeyEntry[] {
  return Array.from({ length: count }, (_, i) => ({
    session: 1 + (i % 7),
    hash: Math.imul(i >> 3, 0x9e3779b1),
    revision: (i % 2) * 2 ** 32,
    seq: firstSeq + i,
  }));
}

function tableOf(keys: readonly KeyEntry[]): Memtable {
  const table = new Memtable();
  for (const key of keys) table.add(key);
  return table;
}

const byKey = (a: KeyEntry, b: KeyEntry) => a.session - b.session || a.hash - b.hash || a.seq - b.seq;

t.test('revisions that differ in one half only are spread over the table', (t) => {
  const one = { session: 1, hash: 0x5eed };
  for (const step of [1, 1_000, 2 ** 21, 2 ** 32, 2 ** 32 + 1, 2 ** 33 - 1]) {
    const all = Array.from({ length: 100_000 }, (_, i) => mix({ ...one, revision: i * step }));
    t.ok(new Set(all).size > 99_990, `${step}`);
    t.ok(new Set(all.map((hash) => hash & 0xfffff)).size > 90_000, `${step}, its low bits`);
  }
  t.end();
});

t.test('they come in the order of the file: by session, then by hash', (t) => {
  const extremes = [2 ** 31 - 1, -(2 ** 31), -1, 0, 1].map((hash, i) => ({
    session: 9,
    hash,
    revision: 0,
    seq: i + 1,
  }));
  const all = [...extremes, ...keys(9_000, 6)];
  t.strictSame([...tableOf(all).inKeyOrder()].sort(byKey), [...all].sort(byKey));
  const inOrder = [...tableOf(all).inKeyOrder()];
  t.ok(inOrder.every((key, i) => i === 0 || byKey({ ...inOrder[i - 1]!, seq: 0 }, { ...key, seq: 0 }) <= 0));
  t.strictSame([...new Memtable().inKeyOrder()], []);
  t.equal(new Memtable().lastSeq, 0);
  // As where the event of a key was pruned, and its copy is stored after the others of its request.
  t.equal(tableOf([...keys(2, 7), ...keys(1, 3)]).lastSeq, 8);
  t.end();
});

t.test('beyond its capacity it refuses a key, rather than forget it', (t) => {
  const table = new Memtable();
  const key = { session: 1, revision: 0 };
  for (let seq = 1; seq <= 2 ** 21; seq++) table.add({ ...key, hash: Math.imul(seq, 0x9e3779b1), seq });
  t.throws(() => table.add({ ...key, hash: 0, seq: 2 ** 21 + 1 }), RangeError);
  t.end();
});

t.test('keys that are forgotten were never there, also when there was no room for them at first', (t) => {
  const [kept, gone] = [
    keys(1_000),
    keys(5_000, 10_001).map((key) => ({ ...key, session: key.session + 3 })),
  ];
  const table = tableOf([...kept, ...gone]);
  table.truncate(kept.length);
  const fresh = tableOf(kept);
  t.equal(table.length, kept.length);
  t.ok([...kept, ...gone].every((key) => String(table.find(key)) === String(fresh.find(key))));
  t.equal(table.lastSeq, 1_000);
  for (const key of gone) table.add(key);
  t.strictSame([...table.inKeyOrder()], [...tableOf([...kept, ...gone]).inKeyOrder()]);
  t.end();
});

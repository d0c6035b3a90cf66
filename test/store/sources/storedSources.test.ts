import t from 'tap';
import { readSources, type StoredSource, writeSources } from '../../../src/store/sources/storedSources.ts';
import { scratch } from '../../harness/scratchStore.ts';

const camera: StoredSource = {
  court: 'court-1',
  name: 'cam-1',
  client: '10.0.7.21',
  isExpected: true,
  knownAt: 5,
  heardAt: 1_000,
  pauses: [[900, 800]],
};
const other = { ...camera, name: 'cam-2', isExpected: false, pauses: [] };

t.test('what is written is read again; what has gone is not', (t) => {
  const { db } = scratch(t);
  t.strictSame(readSources(db), { ranMs: 0, sources: [] });
  writeSources(db, { ranMs: 1_000, sources: [camera, other], gone: [] });
  t.strictSame(readSources(db), { ranMs: 1_000, sources: [camera, other] });
  const later = { ...camera, heardAt: 2_000 };
  writeSources(db, { ranMs: 2_000, sources: [later], gone: [other] });
  t.strictSame(readSources(db), { ranMs: 2_000, sources: [later] });
  t.end();
});

t.test('what courtd never writes is damage', (t) => {
  for (const [table, change] of [
    ['source', "pauses = '['"],
    ['source', "pauses = '[[1]]'"],
    ['source', "pauses = '[[1, -2]]'"],
    ['source', 'heard_at = 1001'],
    ['source', 'known_at = -1'],
    ['running_time', 'ms = -1'],
  ] as const) {
    const { db } = scratch(t);
    writeSources(db, { ranMs: 1_000, sources: [camera], gone: [] });
    db.exec(`UPDATE ${table} SET ${change}`);
    t.throws(() => readSources(db), { code: 'SQLITE_CORRUPT' }, change);
  }
  t.end();
});

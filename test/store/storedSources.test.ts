import t from 'tap';
import { readSources, type StoredSource, writeSources } from '../../src/store/storedSources.ts';
import { scratch } from '../harness/scratchStore.ts';

const camera: StoredSource = {
  court: 'court-1',
  name: 'cam-1',
  client: '10.0.7.21',
  isExpected: true,
  firstDay: 5,
  lastDay: 1_000,
  lastMs: 1_773_500_966_535,
  faults: [['kmh as text', 3, 1_773_500_966_000]],
};
const other = { ...camera, name: 'cam-2', isExpected: false, lastMs: null, faults: [] };

t.test('the state of a source survives a restart, and a forgotten source does not', (t) => {
  const { db } = scratch(t);
  t.strictSame(readSources(db), { days: 0, sources: [] });
  writeSources(db, { days: 1_000, sources: [camera, other] });
  t.strictSame(readSources(db), { days: 1_000, sources: [camera, other] });
  const later = { ...camera, lastDay: 2_000 };
  writeSources(db, { days: 2_000, sources: [later] });
  t.strictSame(readSources(db), { days: 2_000, sources: [later] });
  t.end();
});

t.test('what courtd never writes is damage', (t) => {
  for (const [table, change] of [
    ['source', "pauses = '['"],
    ['source', `pauses = '{"faults":[["a",1.5]]}'`],
    ['source', `pauses = '{"lastMs":"a"}'`],
    ['source', 'heard_at = 1001'],
    ['source', 'known_at = -1'],
    ['running_time', 'ms = -1'],
  ] as const) {
    const { db } = scratch(t);
    writeSources(db, { days: 1_000, sources: [camera] });
    db.exec(`UPDATE ${table} SET ${change}`);
    t.throws(() => readSources(db), { code: 'SQLITE_CORRUPT' }, change);
  }
  t.end();
});

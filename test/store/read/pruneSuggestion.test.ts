import t from 'tap';
import { suggestPrune } from '../../../src/store/read/pruneSuggestion.ts';
import { countExpired } from '../../../src/store/retention/prune.ts';
import { events } from '../../harness/events.ts';
import { Committer, court, scratch } from '../../harness/scratchStore.ts';

const DAY_MS = 86_400_000;
const NOW = Date.UTC(2026, 10, 1);

t.test('the oldest age that frees a quarter or more, and about as much as it frees', (t) => {
  const { db } = scratch(t);
  t.equal(suggestPrune(db, NOW), undefined);
  let nowMs = NOW - 40 * DAY_MS;
  const committer = new Committer(db, () => nowMs);
  for (let day = 0; day < 40; day++, nowMs += DAY_MS) {
    committer.append(
      ...court(...events(40, { type: 'PLAYER_POSITION' }), ...events(10, { type: 'BALL_HIT' })),
    );
  }
  const found = suggestPrune(db, NOW)!;
  t.equal(found.olderThan, '30d');
  const { events: old, of } = countExpired(db, { beforeMs: NOW - 30 * DAY_MS, nowMs: NOW });
  const bytes = (db.pragma('page_count', { simple: true }) as number) * 4096;
  const part = (size: number) => size / bytes;
  t.ok(Math.abs(part(found.bytes) - old / of) < 0.1, `${part(found.bytes)} for ${old / of}`);
  t.equal(suggestPrune(db, NOW - 40 * DAY_MS), undefined, 'what came just now is nothing to delete');
  t.end();
});

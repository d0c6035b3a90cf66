import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { DataDirectory } from '../../../src/base/dataDirectory.ts';
import { EARLIEST_RECEIVED_MS } from '../../../src/base/limits.ts';
import { Expired, expiredEvents, type PruneSelection } from '../../../src/store/keep/expiredEvents.ts';
import { retainNightly, trustedMs } from '../../../src/store/keep/nightlyRetention.ts';
import { countExpired } from '../../../src/store/keep/pruneEvents.ts';
import { Store } from '../../../src/store/store.ts';
import { temporaryFolder } from '../../harness/daemon.ts';
import { event, events } from '../../harness/events.ts';
import { Committer, court, recorder, scratch } from '../../harness/scratchStore.ts';

/** Which events a prune deletes, and when the daemon does. */

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const NOW = Date.UTC(2026, 9, 14);
const DAYS = 90;

t.test('a prune deletes the log up to its last old event before the first young one', (t) => {
  const { db } = scratch(t);
  const sent = events(6);
  new Committer(db).append(...court(...sent));
  const setTime = db.prepare('UPDATE event SET received_ms = ? WHERE seq = ?');
  const LONG = 20_000;
  const table: readonly (readonly [what: string, daysAgo: readonly number[], deleted: number])[] = [
    ['a clock that is right', [200, 100, 91, 90, 10, 1], 3],
    ['young by an hour, between old ones', [200, 90 - 1 / 24, 200, 10, 10, 10], 1],
    ['no young event', [200, 200, 200, 200, 200, 91], 6],
    ['after a winter, years behind', [200, LONG, LONG, 10, 10, 1], 1],
    ['the same, and long ago', [200, LONG, LONG, 100, 10, 1], 4],
    ['a new box whose clock is behind', [LONG, LONG, LONG, LONG, LONG, LONG], 0],
    ['a new box whose clock was behind', [LONG, LONG, 10, 200, 200, 200], 0],
    ['ahead for a moment, between old ones', [200, -400, 200, 10, 1, 1], 3],
    ['everything is in the future: the clock is behind now', [-400, -400, -400, -400, 1, 0], 0],
    ['a young time in front stops it', [10, 200, 200, 200, 200, 200], 0],
  ];
  for (const [what, daysAgo, deleted] of table) {
    for (const [i, days] of daysAgo.entries()) setTime.run(NOW - days * DAY_MS, i + 1);
    const which = { beforeMs: NOW - DAYS * DAY_MS, nowMs: NOW };
    const seqs = [...expiredEvents(db, which, new Expired())].flat();
    t.strictSame(
      seqs,
      [1, 2, 3, 4, 5, 6].filter((seq) => seq <= deleted),
      what,
    );
  }
  t.end();
});

const ALL = { beforeMs: Date.now() + 1e9, nowMs: Date.now() + 2e9 };

t.test('after a prune the file keeps its size and reuses pages, and seqs continue', async (t) => {
  const { db } = scratch(t);
  const pragma = (name: string) => db.pragma(name, { simple: true }) as number;
  const committer = new Committer(db);
  committer.append(...court(...events(2_000), event({ note: 'x'.repeat(1_000_000) })));
  committer.sealAll();
  const pages = pragma('page_count');
  const { bytes } = await committer.prune(ALL);
  t.equal(pragma('page_count'), pages);
  t.ok(pragma('freelist_count') > 300);
  t.equal(bytes, pragma('page_size') * pragma('freelist_count'));
  committer.append(...court(...events(1_000)));
  t.equal(pragma('page_count'), pages);
  t.equal(db.prepare('SELECT max(seq) FROM event').pluck().get(), 3_001);
});

t.test('a prune keeps events that are not shipped until the hold is over', async (t) => {
  const { db } = scratch(t);
  const committer = new Committer(db);
  committer.append(...court(...events(9)));
  const left = () => db.prepare('SELECT seq FROM event ORDER BY seq').pluck().all();
  const hold = { afterSeq: 4, beforeMs: Date.now() - 1e6 };
  t.match(countExpired(db, { ...ALL, hold }), { events: 4, held: 5, of: 9 });
  t.match(await committer.prune({ ...ALL, hold }), { events: 4, held: 5 });
  t.strictSame(left(), [5, 6, 7, 8, 9]);
  t.match(await committer.prune({ ...ALL, hold: { ...hold, afterSeq: 6 } }), { events: 2, held: 3 });
  t.match(await committer.prune({ ...ALL, hold: { ...hold, beforeMs: ALL.beforeMs } }), {
    events: 3,
    held: 0,
  });
});

t.test(
  'for a day after a jump of the clock by more than a day, no later time is trusted than before it',
  (t) => {
    const table: readonly (readonly [
      what: string,
      marks: readonly number[],
      now: number,
      trusted: number,
    ])[] = [
      ['never marked', [], 0, 0],
      ['an hour later', [0, 1, 2], 3, 3],
      ['set by less than a day', [0, 1, 20, 2], 3, 3],
      ['a year ahead since the last mark', [0, 1], 8_760, 1],
      ['ahead, and the daemon has seen it', [0, 1, 8_760, 8_761], 8_762, 1],
      ['ahead, and back again', [0, 1, 8_760, 8_761, 10], 11, 11],
      ['the daemon was off for a week', [0, 1, 169, 170], 171, 1],
      ['a day after it was off', [0, 1, 169, 192], 194, 194],
      ['before the clock was set', [-9_000], 5, 5],
    ];
    const hour = (hours: number) => EARLIEST_RECEIVED_MS + hours * HOUR_MS;
    for (const [what, marks, at, trusted] of table) {
      const directory = new DataDirectory(temporaryFolder(t));
      for (const mark of marks) trustedMs(directory, hour(mark));
      t.equal(trustedMs(directory, hour(at)), hour(trusted), what);
      fs.writeFileSync(path.join(directory.path, 'courtd.clock'), 'noon');
      t.equal(trustedMs(directory, hour(at)), hour(at), 'a mark that is none says nothing');
    }
    t.end();
  },
);

t.test(
  'with --keep and --keep-positions the daemon deletes after a start and in the night, and nothing because of a jump of the clock',
  async (t) => {
    const data = new DataDirectory(temporaryFolder(t));
    const store = await Store.open(data, recorder().on);
    t.teardown(() => store.close());
    const options = { data, keep: 365 * 86_400, keepPositions: 30 * 86_400 };
    const warned: string[] = [];
    const prune = async (selection: PruneSelection) => void (await store.prune(selection, () => {}));
    const make = () => {
      const retention = retainNightly(options, prune, (reason) => warned.push(reason));
      t.teardown(() => retention.stop());
      return retention;
    };
    const now = new Date();
    now.setHours(12, 0, 0, 0);
    const send = async (agesInDays = [400, 200, 40, 20, 1]) => {
      store.db.exec('DELETE FROM event');
      await store.writer.append(court(...events(2), ...events(2, { type: 'PLAYER_POSITION' }), ...events(1)));
      const set = store.db.prepare('UPDATE event SET received_ms = ? WHERE seq = ?');
      const first = store.db.prepare<[], number>('SELECT min(seq) FROM event').pluck().get()!;
      for (const [i, days] of agesInDays.entries()) set.run(now.getTime() - days * DAY_MS, first + i);
    };
    const ages = () =>
      store.db
        .prepare<[], number>('SELECT received_ms FROM event ORDER BY seq')
        .pluck()
        .all()
        .map((ms) => Math.round((now.getTime() - ms) / DAY_MS));
    const retention = make();
    await send();
    await retention.look(now);
    t.strictSame(ages(), [200, 20, 1], 'after the start');
    await send();
    await retention.look(new Date(now.getTime() + 15 * HOUR_MS));
    t.strictSame(ages(), [400, 200, 40, 20, 1], 'once');
    await send([400, 364, 29, 20, 1]);
    const night = new Date(now);
    night.setHours(4, 30);
    await retention.look(new Date(night.getTime() + 3 * DAY_MS));
    t.strictSame(ages(), [364, 29, 20, 1], 'the clock has jumped by three days: what was due before');
    const again = make();
    await again.look(now);
    await send();
    await again.look(night);
    t.strictSame(ages(), [200, 20, 1], 'in the night');
    t.strictSame(warned, []);
  },
);

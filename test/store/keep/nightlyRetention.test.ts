import t from 'tap';
import { DataDirectory } from '../../../src/base/dataDirectory.ts';
import type { PruneSelection } from '../../../src/store/keep/expiredEvents.ts';
import { retainNightly } from '../../../src/store/keep/nightlyRetention.ts';
import { Store } from '../../../src/store/store.ts';
import { stopClock } from '../../harness/clock.ts';
import { temporaryFolder } from '../../harness/daemon.ts';
import { events } from '../../harness/events.ts';
import { court, recorder } from '../../harness/scratchStore.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

t.test(
  'with --keep and --keep-positions the daemon deletes after a start and in the night, and nothing because of a jump of the clock',
  async (t) => {
    const pass = stopClock(t);
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
      store.look((db) => db.exec('DELETE FROM event'));
      await store.append(court(...events(2), ...events(2, { type: 'PLAYER_POSITION' }), ...events(1)));
      const set = store.look((db) => db.prepare('UPDATE event SET received_ms = ? WHERE seq = ?'));
      const first = store.look((db) => db.prepare<[], number>('SELECT min(seq) FROM event').pluck().get())!;
      for (const [i, days] of agesInDays.entries()) set.run(now.getTime() - days * DAY_MS, first + i);
    };
    const ages = () =>
      store.look((db) =>
        db
          .prepare<[], number>('SELECT received_ms FROM event ORDER BY seq')
          .pluck()
          .all()
          .map((ms) => Math.round((now.getTime() - ms) / DAY_MS)),
      );
    const retention = make();
    await send();
    await retention.look(now);
    t.strictSame(ages(), [200, 20, 1], 'after the start');
    await send();
    pass(15 * HOUR_MS);
    await retention.look(new Date(now.getTime() + 15 * HOUR_MS));
    t.strictSame(ages(), [400, 200, 40, 20, 1], 'once');
    await send([400, 364, 29, 20, 1]);
    const night = new Date(now);
    night.setHours(4, 30);
    pass(1.5 * HOUR_MS);
    await retention.look(new Date(night.getTime() + 3 * DAY_MS));
    t.strictSame(ages(), [364, 29, 20, 1], 'the clock has jumped by three days: what was due before');
    const again = make();
    await again.look(now);
    await send();
    pass(16.5 * HOUR_MS);
    await again.look(night);
    t.strictSame(ages(), [200, 20, 1], 'in the night');
    t.strictSame(warned, []);
  },
);

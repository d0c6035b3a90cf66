import t from 'tap';
import { missingNats } from '../../harness/natsProgram.ts';
import { offlineForWeeks } from './offline.ts';

const skip = await missingNats();

t.test(
  'after weeks offline, restarts and a prune of unshipped events the chain is complete and matches tail',
  { skip },
  async (t) => {
    const result = await offlineForWeeks(t, { events: 12_000, restarts: 3, kills: 2 });
    t.comment(JSON.stringify(result));
    t.ok(result.isHeld, 'what is not shipped is spared, as long as it has to be');
    t.ok(result.pruned > 1_000, 'and then no longer');
    t.strictSame(result.gaps, []);
    t.ok(result.isWhole);
  },
);

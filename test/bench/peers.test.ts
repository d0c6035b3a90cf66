import t from 'tap';
import type { Contender } from '../../scripts/bench/contender.ts';
import { BATCHES, SINGLES } from '../../scripts/bench/load.ts';
import type { Sample } from '../../scripts/bench/measure.ts';
import { loadTable, summary, worthTable } from '../../scripts/bench/peers/tables.ts';

const contender = (title: string): Contender => ({ name: title, title, start: () => Promise.reject() });
const [ours, theirs] = [contender('courtd'), contender('a peer')];
const sample = (eventsPerS: number, p99Ms: number): Sample => ({
  eventsPerS,
  p50Ms: 1,
  p99Ms,
  writtenBytes: 512,
  cpuUs: 50,
});
const seen = {
  title: SINGLES.title,
  samples: [
    [ours, [sample(100, 2), sample(200, 2), sample(150, 2)]],
    [theirs, [sample(50, 1), sample(50, 1), sample(150, 1)]],
  ] as const,
};

t.test('a peer is compared with courtd round by round', async (t) => {
  const [own, peer] = loadTable(seen).rows;
  t.strictSame(own!.slice(0, 4), ['courtd', 150, '1.00', '1.00 to 1.00']);
  t.strictSame(peer!.slice(0, 4), ['a peer', 50, '0.50', '0.25 to 1.00']);
});

t.test('the summary names the winner of each load, and says where courtd stands beside it', async (t) => {
  t.strictSame(summary([seen]).rows, [[SINGLES.title, 'courtd', '1.00', 'a peer', '2.00']]);
});

t.test(
  'what a peer lost stands beside what it took to start it; what was not measured is no number',
  async (t) => {
    const worth = { contender: theirs, syncs: 0.5, memoryBytes: 2 ** 20, held: 1_500_000 };
    const found = { cuts: 16, lost: 3, repaired: 2, dead: 1 };
    const { headings, rows } = worthTable(
      16,
      [
        { ...worth, found },
        { ...worth, found: undefined, syncs: undefined },
      ],
      [seen],
    );
    t.match(headings.join(), /lost, 16 power cuts/);
    const lost = '3; started only after a repair by hand: 2; did not start again: 1';
    t.strictSame(rows[0], ['a peer', '0.50', lost, 512, '-', 50, '-', 1, '1.5']);
    t.strictSame(rows[1]!.slice(1, 3), ['-', '-']);
    t.match(headings[4], BATCHES.title);
  },
);

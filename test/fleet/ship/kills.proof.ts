import t from 'tap';
import { missingNats } from '../../harness/natsProgram.ts';
import { killAtRandom } from './kills.ts';

const skip = await missingNats();
const SEED = Number(process.env.SHIP_SEED ?? Date.now() % 1e6);

t.test(
  'without its condition a chunk that comes late is there twice: this test sees it',
  { skip },
  async (t) => {
    const options = { kills: 0, seed: SEED, unconditional: true, faultRate: 0.4 };
    const result = await killAtRandom(t, options);
    t.comment(JSON.stringify({ seed: SEED, ...result }));
    t.ok(result.twice > 0, `${result.twice} events are there twice`);
    t.notOk(result.isWhole);
  },
);

for (const servers of [1, 3] as const) {
  const name = `box and server are killed at random, the line is bad: with ${servers} server(s) all is there, once, in order`;
  t.test(name, { skip }, async (t) => {
    const result = await killAtRandom(t, { kills: 6, servers, seed: SEED });
    t.comment(JSON.stringify({ seed: SEED, ...result }));
    t.ok(result.events > 100, 'events came meanwhile');
    t.strictSame(result.gaps, []);
    t.equal(result.twice, 0);
    t.ok(result.isWhole, 'what headquarters has is what tail says');
  });
}

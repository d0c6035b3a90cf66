import { say } from '../../src/cli/terminal/output.ts';
import { atMost } from './bars.ts';
import { courtd } from './courtd.ts';
import type { Load } from './load.ts';
import { Measured } from './measure.ts';
import type { Section } from './section.ts';

/** The bytes written to the device for an event: writes wear out flash. */

/** One connection: each request is a commit of its own. */
const BATCHES: Load = { title: 'batches of 500', connections: 1, events: 500 };
const GROUPS: Load = { title: 'groups of 20', connections: 1, events: 20 };
const BARS: readonly (readonly [Load, number])[] = [
  [BATCHES, 2_000],
  [GROUPS, 10_000],
];
/** Long enough to include flushes of keys, which write too. */
const SECONDS = 4;

export const wear: Section = {
  name: 'wear',
  async run(ground) {
    const directory = ground.empty('wear');
    const measured = new Measured(courtd, await courtd.start(directory), directory);
    const verdicts = [];
    for (const [load, most] of BARS) {
      await ground.settle();
      const { writtenBytes } = await measured.run(load, SECONDS, (order) => ground.send(order));
      if (Number.isNaN(writtenBytes)) {
        say('The bytes written are not known: the data are not on a block device of their own.');
        continue;
      }
      verdicts.push(
        atMost(`Written to the device for each event, ${load.title}`, writtenBytes, most, 'bytes'),
      );
    }
    await measured.finish();
    ground.notePeak(measured.peakBytes);
    return verdicts;
  },
};

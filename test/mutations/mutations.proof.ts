import t from 'tap';
import { FAULTS } from './faults.ts';
import { tryFaults } from './main.ts';

/** Another third each day, so that a gate holds the whole list in three. */
const third = new Date().getUTCDate() % 3;

t.setTimeout(900_000);

t.test(`each fault of the list is found by the test that is named for it (third ${third})`, async (t) => {
  t.equal(
    await tryFaults(
      FAULTS.filter((_, i) => i % 3 === third),
      (line) => t.comment(line),
    ),
    0,
  );
});

import { randomBytes } from 'node:crypto';
import t, { type Test } from 'tap';
import { DataDirectory } from '../../../src/base/dataDirectory.ts';
import { REFUSED_KEPT } from '../../../src/base/limits.ts';
import { bodyOf, keptBodies, withRefused } from '../../../src/store/refused/refusedFile.ts';
import { RefusedRequests } from '../../../src/store/refused/refusedRequests.ts';
import { temporaryFolder } from '../../harness/daemon.ts';

const KIB = 1024;
let made = 0;

/** @returns the rejected requests of a new directory, and what keeps some of a source. */
function begin(t: Test) {
  const directory = new DataDirectory(temporaryFolder(t));
  const requests = new RefusedRequests({ directory, maxBytes: 200 * KIB, warn: () => {} });
  t.teardown(() => requests.close());
  const keep = async (source: string, bodies: readonly (Buffer | undefined)[], code = 'invalid_event') => {
    const rest = {
      client: '10.0.7.21',
      status: 400,
      code: code as 'invalid_event',
      events: 2,
      error: 'wrong',
    };
    for (const body of bodies) requests.keep({ id: `${made++}`, source, ...rest }, made, body, undefined);
    await requests.delete({ ids: [] });
  };
  return { directory, requests, keep };
}

t.test('a sender with more than a quarter of the space loses its own bodies first, the oldest', async (t) => {
  const { directory, requests, keep } = begin(t);
  await keep('quiet', [randomBytes(10 * KIB)]);
  await keep(
    'loud',
    [...Array(15)].map(() => randomBytes(10 * KIB)),
  );
  t.equal(requests.waiting[0]?.events, 30, 'there is room');
  await keep(
    'loud',
    [...Array(30)].map(() => randomBytes(10 * KIB)),
  );
  const [loud, quiet] = requests.waiting;
  t.strictSame(quiet, { sender: 'quiet', events: 2 });
  t.ok(loud!.events >= 20 && loud!.events <= 36, `${loud!.events} events in less than 200 KiB`);
  t.equal(await withRefused(directory, (db) => [...keptBodies(db)].at(-1)?.id), `${made - 1}`);
});

t.test('a body is kept once, and of each kind without one only the newest', async (t) => {
  const { directory, requests, keep } = begin(t);
  const body = randomBytes(KIB);
  await keep('cam', [body, body]);
  const [again, first] = requests.recent();
  t.strictSame(await withRefused(directory, (db) => [...keptBodies(db)].map(({ id }) => id)), [first!.id]);
  t.ok(await withRefused(directory, (db) => bodyOf(db, again!)));
  await keep('cam', [undefined], 'unauthorized');
  // In a second there may be fewer.
  for (let i = 0; i < 4; i++) await keep('cam', Array(REFUSED_KEPT / 4).fill(undefined));
  const ids = requests.recent().map(({ id }) => id);
  t.strictSame([ids.length, ids.includes(again!.id), ids.at(-1)], [REFUSED_KEPT + 2, false, first!.id]);
});

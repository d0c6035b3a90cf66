import { hash } from 'node:crypto';
import path from 'node:path';
import t from 'tap';
import { REFUSED_KEPT } from '../../../src/base/limits.ts';
import { RefusedFile } from '../../../src/store/refused/refusedFile.ts';
import { temporaryFolder } from '../../harness/daemon.ts';

const KIB = 1024;
let made = 0;

/** @returns a rejected request of two events, whose body is new if it has none. */
function request(source: string, bytes: number, gzip: Buffer | null = Buffer.alloc(bytes, `${made} `)) {
  const sha256 = gzip && hash('sha256', gzip, 'buffer');
  const id = `request-${made++}`;
  const rest = { client: '10.0.7.21', status: 400, code: 'invalid_event', courtId: null, error: 'wrong' };
  return { id, atMs: made, source, events: 2, sha256, gzip, ...rest };
}

t.test('a sender with more than a quarter of the space loses its own bodies first, the oldest', (t) => {
  const file = new RefusedFile(path.join(temporaryFolder(t), 'refused.db'), 'write');
  t.teardown(() => file.close());
  file.add([request('quiet', 10 * KIB)]);
  for (let i = 0; i < 40; i++) file.add([request('loud', 10 * KIB)]);
  t.notOk(file.shrink(1024 * KIB), 'there is room');
  t.ok(file.shrink(200 * KIB));
  const [loud, quiet] = file.waiting(10);
  t.equal(quiet?.sender, 'quiet');
  t.equal(quiet?.events, 2);
  t.ok(loud!.events >= 20 && loud!.events <= 36, `${loud!.events} events in less than 200 KiB`);
  t.equal([...file.bodies()].at(-1)?.id, `request-${made - 1}`);
  t.ok(file.shrink(0));
  t.strictSame(file.waiting(10), []);
  t.end();
});

t.test('a body is kept once, and of each kind without one only the newest', (t) => {
  const file = new RefusedFile(path.join(temporaryFolder(t), 'refused.db'), 'write');
  t.teardown(() => file.close());
  const first = request('cam', KIB);
  const again = request('cam', KIB, first.gzip);
  file.add([first, again]);
  t.equal([...file.bodies()].length, 1);
  t.ok(file.find(again.id)?.gzip?.equals(first.gzip!));
  const others = Array.from({ length: REFUSED_KEPT }, () => request('cam', 0, null));
  file.add([{ ...request('cam', 0, null), code: 'unauthorized' }, ...others]);
  t.equal(file.newest(2 * REFUSED_KEPT).length, REFUSED_KEPT + 2);
  t.equal(file.find(again.id), undefined);
  t.ok(file.find(first.id)?.gzip);
  t.end();
});

import { randomBytes } from 'node:crypto';
import t from 'tap';
import {
  REJECTION_BODY_BYTES,
  REJECTIONS_BYTES,
  REJECTIONS_KEPT,
  REJECTIONS_WRITE_BYTES,
  REJECTIONS_WRITE_MS,
} from '../../src/base/limits.ts';
import { Problem, type ProblemCode } from '../../src/protocol/errors.ts';
import type { Rejection, RejectionChanges } from '../../src/store/rejections/storedRejections.ts';
import { RefusalBook, type RefusedRequest } from '../../src/telemetry/refusalBook.ts';
import { RejectionWriter } from '../../src/telemetry/rejectionWriter.ts';
import { usedMib } from '../harness/memory.ts';

let id = 0;
const RARE = ['invalid_event', 'not_found', 'rate_limited'] as const;

function refused(fields: Partial<RefusedRequest> = {}, code: ProblemCode = 'invalid_json'): RefusedRequest {
  return {
    id: `id-${id++}`,
    client: '10.0.0.1',
    problem: new Problem(code, `refused: ${code}`),
    camera: {},
    body: undefined,
    token: undefined,
    ...fields,
  };
}

/** Adds one every tenth of a millisecond, as a flood does. */
function flood(book: RefusalBook, count: number, next: (i: number) => RefusedRequest): void {
  for (let i = 0; i < count; i++) book.add(next(i), 1_700_000_000_000 + i, i / 10);
}

t.test('a flood of one kind keeps the newest of it, and pushes out no other', (t) => {
  const book = new RefusalBook();
  const rare = Array.from({ length: 300 }, (_, i) => refused({ client: `10.1.0.${i % 100}` }, RARE[i % 3]));
  flood(book, rare.length, (i) => rare[i]!);
  flood(book, 20_000, () => refused({}, 'unauthorized'));
  const kept = book.newest(Number.POSITIVE_INFINITY);
  t.equal(kept.length, REJECTIONS_KEPT);
  const ids = new Set(kept.map((one) => one.id));
  for (const one of rare) t.ok(ids.has(one.id));
  const ofFlood = kept.filter(({ code }) => code === 'unauthorized');
  t.strictSame(
    ofFlood.map((one) => one.id),
    Array.from({ length: REJECTIONS_KEPT - rare.length }, (_, i) => `id-${id - 1 - i}`),
    'newest first',
  );
  t.strictSame(book.newest(2), kept.slice(0, 2));
  t.end();
});

t.test('a flood of strangers without a token, each from an address of its own, hides no camera', (t) => {
  const book = new RefusalBook();
  const cameras = Array.from({ length: 100 }, (_, i) => `camera-${i}`);
  flood(book, cameras.length, (i) => {
    const camera = { source: cameras[i]!, court_id: 'court-1' };
    return refused({ client: `10.1.0.${i}`, camera }, 'invalid_event');
  });
  flood(book, 5 * REJECTIONS_KEPT, (i) => refused({ client: `2001:db8::${i.toString(16)}` }, 'unauthorized'));
  const named = (all: readonly { readonly source: string | null }[]) =>
    all.flatMap(({ source }) => source ?? []).sort();
  t.strictSame(named(book.report(1_000, 1_000, () => 0)), [...cameras].sort());
  t.strictSame(named(book.newest(REJECTIONS_KEPT)), [...cameras].sort());
  t.end();
});

t.test('each kind is counted where bodies are too many to keep', (t) => {
  const book = new RefusalBook();
  const body = Buffer.alloc(REJECTION_BODY_BYTES, 'x');
  flood(book, 1_000, (i) => refused({ body, camera: { source: `camera-${i % 100}`, court_id: 'court-1' } }));
  const kinds = book.report(1_000, 1_000, () => 0);
  t.strictSame([...new Set(kinds.map(({ requests }) => requests))], [10]);
  t.equal(kinds.length, 100);
  t.equal(book.byCode.invalid_json, 1_000);
  t.equal(book.lastMinute(1_000), 1_000);
  t.end();
});

t.test('a name that is a slice of a body does not keep the body in memory', (t) => {
  const book = new RefusalBook();
  const bytes = Buffer.alloc(2 * 1024 ** 2, 'x');
  const before = usedMib();
  for (let i = 0; i < 50; i++) {
    bytes.write(`source-of-camera-${i} `);
    const body = bytes.toString('latin1');
    const camera = { source: body.slice(0, 20), court_id: body.slice(20, 40) };
    book.add(refused({ problem: new Problem('invalid_event', body.slice(40, 80)), camera }), 0, i);
  }
  const grown = usedMib() - before;
  t.ok(grown < 50, `${grown} MiB`);
  t.equal(book.report(50, 0, () => 0).length, 50);
  t.end();
});

t.test('a flood from ever other addresses is bounded too, and its newest are there', (t) => {
  const book = new RefusalBook();
  flood(book, 5 * REJECTIONS_KEPT, (i) => refused({ client: `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}` }));
  const kept = book.newest(Number.POSITIVE_INFINITY);
  t.equal(kept.length, REJECTIONS_KEPT);
  t.equal(kept[0]?.id, `id-${id - 1}`);
  t.equal(kept.at(-1)?.id, `id-${id - REJECTIONS_KEPT}`);
  t.end();
});

t.test(
  'of a body the first 16 KiB are kept, of a flood of bodies some, and all together are bounded',
  (t) => {
    const book = new RefusalBook();
    const body = Buffer.alloc(100_000, 'x');
    const one = refused({ body });
    book.add(one, 0, 0);
    const { body: head, bodyBytes } = book.find(one.id)!;
    t.strictSame([head?.length, bodyBytes], [REJECTION_BODY_BYTES, 100_000]);
    body.fill('y');
    t.equal(book.find(one.id)?.body?.indexOf('y'), -1, 'a copy');
    flood(book, 2_000, () => refused({ body }));
    const ofFlood = book.newest(REJECTIONS_KEPT).filter(({ id }) => id !== one.id);
    t.strictSame([ofFlood[0]?.body, ofFlood[0]?.bodyBytes], [null, 100_000]);
    t.ok(ofFlood.filter((each) => each.body !== null).length <= 100, 'within a second');
    const bytesOf = () =>
      book.newest(REJECTIONS_KEPT).reduce((sum, { body }) => sum + (body?.length ?? 0), 0);
    for (let i = 0; i < 1_000; i++)
      book.add(refused({ body, camera: { source: `camera-${i % 7}` } }), 0, i * 1_000);
    t.ok(bytesOf() <= REJECTIONS_BYTES, `${bytesOf()} bytes`);
    t.ok(bytesOf() > REJECTIONS_BYTES / 2, `${bytesOf()} bytes`);
    t.end();
  },
);

t.test('of a token that comes again where the body is cut, nothing is kept', (t) => {
  const book = new RefusalBook();
  const token = randomBytes(32).toString('base64url');
  for (let cut = 1; cut <= token.length + 28; cut += 7) {
    const body = Buffer.from(`${token}${'x'.repeat(REJECTION_BODY_BYTES - cut)}${token}${token}`);
    const one = refused({ token, body });
    book.add(one, 0, 0);
    const kept = String(book.find(one.id)?.body);
    t.notMatch(kept, token.slice(0, 6), `${cut}`);
    t.ok(kept.length <= REJECTION_BODY_BYTES);
    t.ok(kept.startsWith('(token removed)xx'));
  }
  t.end();
});

t.test('the token that a client showed is not in the body that is kept', (t) => {
  const book = new RefusalBook();
  const token = 'T'.repeat(43);
  const text = (at: number) => `${'x'.repeat(at)}${token}${'x'.repeat(50)}`;
  for (const at of [0, 10, REJECTION_BODY_BYTES - 20]) {
    book.add(refused({ token, body: Buffer.from(text(at)) }), 0, 0);
  }
  const kept = book.newest(3);
  t.equal(kept.length, 3);
  for (const { body } of kept) {
    t.notMatch(body?.toString(), 'TTTT');
    t.ok(body!.length <= REJECTION_BODY_BYTES);
  }
  t.equal(kept[2]?.body?.toString(), `(token removed)${'x'.repeat(50)}`);
  t.end();
});

/** A database of its own: what the writer has told it. */
class Stored {
  readonly rows = new Map<number, Rejection>();
  readonly writes: RejectionChanges[] = [];
  isFull = false;

  readonly write = (changes: RejectionChanges): boolean => {
    this.writes.push(changes);
    if (this.isFull) return false;
    for (const turn of changes.gone) if (!this.rows.delete(turn)) throw new Error(`${turn} was not there`);
    for (const one of changes.added) this.rows.set(one.turn, one);
    return true;
  };
}

t.test('written once a minute at the most, a little of each kind, and all of it at the end', (t) => {
  const [book, stored] = [new RefusalBook(), new Stored()];
  const writer = new RejectionWriter(book, stored.write);
  t.teardown(() => writer.stop());
  writer.look(1_000);
  t.equal(stored.writes.length, 0, 'nothing to write');
  book.add(refused({}, 'not_found'), 0, 0);
  writer.look(2_000);
  t.equal(stored.rows.size, 1, 'at once');
  const body = Buffer.alloc(50_000, 'x');
  flood(book, 10_000, () => refused({ body }));
  for (let at = 3_000; at < 2_000 + REJECTIONS_WRITE_MS; at += 1_000) writer.look(at);
  t.equal(stored.writes.length, 1);
  writer.look(2_000 + REJECTIONS_WRITE_MS);
  t.equal(stored.writes.length, 2);
  t.ok(stored.writes[1]!.added.length <= 20, `${stored.writes[1]?.added.length} of a flood`);
  t.equal(stored.writes[1]?.added[0]?.id, book.newest(1)[0]?.id);
  for (let i = 0; i < 100; i++) book.add(refused({ body, camera: { source: `camera-${i}` } }), 0, 0);
  writer.look(2_000 + 2 * REJECTIONS_WRITE_MS);
  const bytes = stored.writes[2]!.added.reduce((sum, { body }) => sum + (body?.length ?? 0), 0);
  t.ok(bytes <= REJECTIONS_WRITE_BYTES, `${bytes} bytes`);
  t.ok(bytes > REJECTIONS_WRITE_BYTES / 2, `${bytes} bytes`);
  writer.stop();
  const all = book.newest(Number.POSITIVE_INFINITY);
  t.strictSame(new Set([...stored.rows.keys()]), new Set(all.map(({ turn }) => turn)));
  t.equal(stored.rows.size, REJECTIONS_KEPT);
  t.end();
});

t.test('what could not be written is written a minute later, and what was gone by then is not', (t) => {
  const [book, stored] = [new RefusalBook(), new Stored()];
  const writer = new RejectionWriter(book, stored.write);
  t.teardown(() => writer.stop());
  flood(book, 3, () => refused());
  stored.isFull = true;
  writer.look(0);
  t.equal(stored.rows.size, 0);
  stored.isFull = false;
  writer.look(REJECTIONS_WRITE_MS - 1);
  t.equal(stored.rows.size, 0);
  writer.look(REJECTIONS_WRITE_MS);
  t.equal(stored.rows.size, 3);
  flood(book, 2 * REJECTIONS_KEPT, () => refused());
  writer.look(2 * REJECTIONS_WRITE_MS);
  t.equal(stored.rows.size, 20, 'the first three have made room');
  writer.look(3 * REJECTIONS_WRITE_MS);
  t.equal(stored.rows.size, 40, 'those that a write has left come with the next one');
  t.end();
});

t.test('after a restart it goes on where it was', (t) => {
  const book = new RefusalBook();
  flood(book, REJECTIONS_KEPT, (i) => refused({ client: `10.0.0.${i % 3}` }));
  const stored = new Stored();
  book.flush(stored.write, Number.POSITIVE_INFINITY);
  const again = new RefusalBook([...stored.rows.values()].reverse());
  t.strictSame(
    again.newest(REJECTIONS_KEPT).map((one) => one.id),
    book.newest(REJECTIONS_KEPT).map((one) => one.id),
  );
  t.equal(again.isChanged, false);
  const next = refused();
  again.add(next, 0, 0);
  t.equal(again.newest(1)[0]?.id, next.id);
  again.flush(stored.write, Number.POSITIVE_INFINITY);
  const { gone, added } = stored.writes.at(-1)!;
  t.match([gone.length, added.length, added[0]?.id], [1, 1, next.id]);
  t.end();
});

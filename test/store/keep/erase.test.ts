import t from 'tap';
import { erasePlayer } from '../../../src/store/keep/erase.ts';
import { readErasures } from '../../../src/store/write/ledger.ts';
import { event } from '../../harness/events.ts';
import { Committer, court, scratch } from '../../harness/scratchStore.ts';

const [ANNA, BEA] = ['p-anna-kowalska', 'p-bea-lindqvist'];

/** @returns events of both players in turns; every third one is a hit. */
function played(count: number) {
  return Array.from({ length: count }, (_, i) =>
    event({
      event_id: `e${i}`,
      session_id: `match-${i % 2}`,
      type: i % 3 === 0 ? 'BALL_HIT' : 'PLAYER_POSITION',
      payload: { player_id: i % 4 < 2 ? ANNA : BEA, x_ft: i },
    }),
  );
}

const request = { player: ANNA!, beforeNs: undefined, nowMs: Date.now() };

t.test('an erasure that was interrupted is completed by the next one, under the same names', async (t) => {
  const names = async (interruptAt: number | undefined) => {
    const { db } = scratch(t);
    db.prepare('UPDATE secret SET key = ?').run(Buffer.alloc(16, 1));
    const committer = new Committer(db);
    committer.append(...court(...played(5_000)));
    const his = db.prepare<[], number>(`SELECT count(*) FROM event WHERE instr(payload, '${ANNA}')`).pluck();
    const ended = new AbortController();
    const on = (count: number) => interruptAt !== undefined && count >= interruptAt && ended.abort();
    const context = { db, writer: { ...committer.steps, isServing: true } };
    let left = his.get()!;
    if (interruptAt !== undefined) {
      const first = erasePlayer({ ...context, on, signal: ended.signal }, request);
      await t.rejects(first, { name: 'AbortError' });
      t.ok(his.get()! > 0 && his.get()! < left);
      left = his.get()!;
    }
    const erased = await erasePlayer({ ...context, on: () => {} }, request);
    t.equal(erased.emptied + erased.renamed, left);
    t.equal(his.get(), 0);
    t.ok(readErasures(db)[0]!.finishedMs! > 0);
    return db.prepare<[], string>('SELECT payload FROM event ORDER BY seq').pluck().all();
  };
  const whole = await names(undefined);
  const distinct = new Set(whole.flatMap((payload) => payload.match(/erased-[0-9a-f]{8}/g) ?? []));
  t.equal(distinct.size, 2, 'one in each session');
  t.strictSame(await names(1_000), whole);
});

t.test('the ledger has the instant up to which it holds before the first event is changed', async (t) => {
  const { db } = scratch(t);
  const committer = new Committer(db);
  const eot = (seconds: number) => new Date(request.nowMs + seconds * 1_000).toISOString();
  const hit = (player_id: string | undefined, at: number) =>
    event({ type: 'BALL_HIT', payload: { player_id }, eot: eot(at) });
  committer.append(...court(hit(ANNA, -5), hit(ANNA, 60), hit(BEA, 3_600)));
  const seen: [erased: number, beforeNs: bigint | undefined][] = [];
  const erased = db.prepare<[], number>('SELECT count(*) FROM event WHERE erased = 1').pluck();
  const step = (work: () => void) => {
    committer.steps.step(work);
    seen.push([erased.get()!, readErasures(db)[0]?.beforeNs]);
  };
  const writer = { ...committer.steps, step, isServing: true };
  await erasePlayer({ db, writer, on: () => {} }, request);
  const until = BigInt(request.nowMs + 1) * 1_000_000n;
  t.strictSame(seen[0], [0, until], 'whatever a clock said that was ahead');
  t.equal(seen.at(-1)![0], 2);
  committer.append(...court(hit(ANNA, -1), hit(ANNA, 1)));
  const players = db
    .prepare<[], string>(`SELECT payload ->> 'player_id' FROM event ORDER BY seq`)
    .pluck()
    .all();
  t.match(players, [/^erased-/, /^erased-/, BEA, /^erased-/, ANNA]);
});

t.test('an event that comes again during the erasure of its player is no conflict', async (t) => {
  const { db } = scratch(t);
  const committer = new Committer(db);
  const sent = played(600);
  committer.append(...court(...sent));
  const conflicts: number[] = [];
  const step = (work: () => void) => {
    committer.steps.step(work);
    conflicts.push(committer.append(...court(...sent)).conflicts);
  };
  const writer = { ...committer.steps, step, isServing: true };
  await erasePlayer({ db, writer, on: () => {} }, request);
  t.ok(conflicts.length > 3, 'it has several steps');
  t.strictSame(new Set(conflicts), new Set([0]));
});

import fs from 'node:fs';
import path from 'node:path';
import t, { type Test } from 'tap';
import { DataDirectory } from '../../../src/base/dataDirectory.ts';
import { erasePlayer } from '../../../src/store/erasure/erase.ts';
import { findRemains } from '../../../src/store/erasure/findRemains.ts';
import { Random } from '../../../src/vendor/simulate/random.ts';
import { event } from '../../harness/events.ts';
import { Committer, court, scratch } from '../../harness/scratchStore.ts';

const PLAYERS = ['p-anna-kowalska', 'p-bea-lindqvist', 'p-cleo-marchetti'];

/** @returns events of all players in turns; every third one is a hit. */
function played(count: number) {
  return Array.from({ length: count }, (_, i) =>
    event({
      event_id: `e${i}`,
      session_id: 'match-1',
      type: i % 3 === 0 ? 'BALL_HIT' : 'PLAYER_POSITION',
      payload: { player_id: PLAYERS[(i % 7) % 3], x_ft: i },
    }),
  );
}

const request = { player: PLAYERS[0]!, beforeNs: undefined, nowMs: Date.now() };

t.test('an erasure that was ended is completed by the next one, under the same name', async (t) => {
  const { db } = scratch(t);
  const committer = new Committer(db);
  committer.append(...court(...played(5_000)));
  const his = db
    .prepare<[], number>(`SELECT count(*) FROM event WHERE payload LIKE '%${PLAYERS[0]}%'`)
    .pluck();
  const ended = new AbortController();
  const context = { db, writer: committer.steps };
  const on = (doing: string, count: number) => {
    if (doing === 'events' && count >= 2_000) ended.abort();
  };
  await t.rejects(erasePlayer({ ...context, on, signal: ended.signal }, request), { name: 'AbortError' });
  const left = his.get()!;
  t.ok(left > 0);
  const erased = await erasePlayer({ ...context, on: () => {} }, request);
  t.match(erased, { sessions: 1, remainingPages: 0, files: [] });
  t.equal(erased.emptied + erased.renamed, left);
  t.equal(his.get(), 0);
  const names = db.prepare<[], string>(
    `SELECT DISTINCT payload ->> 'player_id' FROM event WHERE payload LIKE '%erased-%'`,
  );
  t.equal(names.pluck().all().length, 1);
  t.equal(db.prepare('SELECT 1 FROM erased_name').get(), undefined);
});

const spelled = async (t: Test, player: string, json: string) => {
  const { folder, db } = scratch(t);
  const committer = new Committer(db);
  const events = court(...played(2_000));
  committer.append(...events.map((one) => ({ ...one, payload: one.payload.replaceAll(PLAYERS[0]!, json) })));
  // As a prune of a type does: pages that are nearly empty are merged. Without overwriting what is deleted, in many of them.
  db.pragma('secure_delete = OFF');
  db.exec('DELETE FROM event WHERE seq % 3 <> 1 OR seq % 97 = 0');
  db.pragma('wal_checkpoint(TRUNCATE)');
  const directory = new DataDirectory(folder);
  const live = db
    .prepare<[], number>(`SELECT count(*) FROM event WHERE instr(payload, '${json}') > 0`)
    .pluck();
  const { pages } = await findRemains(directory, [player]);
  t.equal(pages.length > 0, true, 'without free space that has something this shows nothing');
  const rows = db.prepare<[], object>('SELECT seq, event_id, eot, session FROM event ORDER BY seq').all();
  t.equal(live.get()! > 0, true);
  const erased = await erasePlayer({ db, writer: committer.steps, on: () => {} }, { ...request, player });
  t.match(erased, { remainingPages: 0, files: [] });
  t.notMatch(fs.readFileSync(path.join(folder, 'courtd.db')).toString('latin1'), json);
  t.same(db.prepare('SELECT seq, event_id, eot, session FROM event ORDER BY seq').all(), rows);
  t.equal(db.pragma('integrity_check', { simple: true }), 'ok');
};

t.test('copies of rows that a prune has left in the free space of pages go, too', (t) =>
  spelled(t, PLAYERS[0]!, PLAYERS[0]!),
);

t.test('so do those in which JSON escapes what is not ASCII, or a slash', (t) =>
  spelled(t, 'Zoë/berg-77', String.raw`Zo\u00eb\/berg-77`),
);

t.test(
  'another process that goes on also looks for the names in identities that are emptied already',
  async (t) => {
    const { db, folder } = scratch(t);
    const committer = new Committer(db);
    const name = 'Anna Kowalska-Example';
    const identity = event({ type: 'PLAYER_IDENTITY', payload: { player_id: PLAYERS[0], name } });
    committer.append(...court(identity, ...played(5_000)));
    const ended = new AbortController();
    const on = (doing: string) => doing === 'events' && ended.abort();
    const context = { db, writer: committer.steps };
    await t.rejects(erasePlayer({ ...context, on, signal: ended.signal }, request), { name: 'AbortError' });
    t.match(await erasePlayer({ ...context, on: () => {} }, request), { remainingPages: 0 });
    t.notMatch(fs.readFileSync(path.join(folder, 'courtd.db')).toString('latin1'), name);
    t.equal(db.prepare('SELECT 1 FROM erased_name').get(), undefined);
  },
);

t.test('a name that the disk has changed while an erasure was ended goes into no event', async (t) => {
  const { db } = scratch(t);
  const committer = new Committer(db);
  const bounces = Array.from({ length: 2_500 }, () =>
    event({ type: 'BALL_BOUNCE', payload: { player_id: PLAYERS[0] } }),
  );
  committer.append(...court(...bounces));
  const ended = new AbortController();
  const name = db.prepare<[], string>('SELECT name FROM erased_name').pluck();
  const on = () => name.get() !== undefined && ended.abort();
  const context = { db, writer: committer.steps };
  await t.rejects(erasePlayer({ ...context, on, signal: ended.signal }, request), { name: 'AbortError' });
  db.exec(`UPDATE erased_name SET name = 'E' || substr(name, 2)`);
  await erasePlayer({ ...context, on: () => {} }, request);
  const names = db.prepare<[], string>(`SELECT DISTINCT payload ->> 'player_id' FROM event`).pluck().all();
  t.equal(names.length, 2);
  t.ok(
    names.every((one) => /^erased-[a-z0-9]{8}$/.test(one)),
    names.join(),
  );
});

t.test('pages of any content are clean when they are looked at again', async (t) => {
  const random = new Random(5);
  for (let box = 0; box < 6; box++) {
    const { db } = scratch(t);
    const committer = new Committer(db);
    const positions = Array.from({ length: random.integer(60, 900) }, () => {
      const pad = 'y'.repeat(random.next() ** 4 * 1_500);
      return event({ type: 'PLAYER_POSITION', payload: { player_id: random.pick(PLAYERS), pad } });
    });
    committer.append(...court(...positions));
    db.function('chance', { deterministic: false }, () => random.next());
    db.exec('DELETE FROM event WHERE chance() < 0.6');
    const rounds: number[] = [];
    const on = (doing: string, round: number) => doing === 'bytes' && rounds.push(round);
    t.match(await erasePlayer({ db, writer: committer.steps, on }, request), { remainingPages: 0 });
    t.equal(rounds.length <= 2, true, `${rounds.length} rounds`);
  }
});

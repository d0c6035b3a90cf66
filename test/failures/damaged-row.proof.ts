import fs from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import t from 'tap';
import { Daemon } from '../harness/daemon.ts';
import { events } from '../harness/events.ts';
import { checkProblem } from '../harness/problem.ts';
import { answerOf } from '../harness/rawClient.ts';
import { Committer, court, scratch } from '../harness/scratchStore.ts';

/** A page of old events is damaged, and a camera sends one of them again. */

const PAGE_BYTES = 4096;
const TOLD = 'Part of the database is damaged. Requests that need that part are answered with 503.';

/** Overwrites a page in the middle of the events, with the daemon stopped. @returns the event_ids that it held. */
function damage(file: string): string[] {
  const db = new Database(file);
  const pages = db
    .prepare<[], number>("SELECT pageno FROM dbstat WHERE name = 'event' AND pagetype = 'leaf' ORDER BY path")
    .pluck()
    .all();
  const stored = db.prepare<[], string>('SELECT event_id FROM event').pluck().all();
  db.close();
  const page = pages[Math.floor(pages.length / 2)]!;
  const bytes = fs.readFileSync(file);
  const held = bytes.subarray((page - 1) * PAGE_BYTES, page * PAGE_BYTES).toString('latin1');
  fs.writeFileSync(file, bytes.fill(0xa5, (page - 1) * PAGE_BYTES, page * PAGE_BYTES));
  return stored.filter((id) => held.includes(id));
}

t.test(
  'its request is refused, each time; the others of its group are stored, and the daemon lives',
  async (t) => {
    const { folder, db } = scratch(t);
    const committer = new Committer(db);
    const sent = events(5_000);
    committer.append(...court(...sent));
    // Or a start would read all of them, and refuse to serve.
    committer.sealAll();
    db.close();
    const lost = damage(path.join(folder, 'courtd.db'));
    t.ok(lost.length > 2 && lost.length < 100, `${lost.length} events cannot be read`);
    const whole = sent.filter(({ event_id }) => !lost.includes(event_id)).slice(0, 3);
    const again = sent.filter(({ event_id }) => lost.includes(event_id));
    const daemon = await Daemon.start(t, [], folder);
    for (const damaged of [[again[0]!], [again[1]!, ...events(2)], [again[0]!]]) {
      const answers = await Promise.all(
        [events(1), damaged, whole, events(20)].map((batch) => answerOf(daemon.post(batch))),
      );
      const [one, refused, duplicates, more] = answers;
      t.equal(one?.body, '{"accepted":1,"duplicates":0}');
      t.equal(duplicates?.body, '{"accepted":0,"duplicates":3}');
      t.equal(more?.body, '{"accepted":20,"duplicates":0}');
      const { error } = checkProblem(t, refused!, 503, 'storage_failed', 'what cannot be read');
      t.match(error, /tell the operator/);
    }
    t.equal(daemon.timesLogged(TOLD), 1, 'told once a minute at most');
    t.equal(await daemon.stop(), 0);
  },
);

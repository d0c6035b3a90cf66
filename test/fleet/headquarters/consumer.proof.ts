import path from 'node:path';
import pg from 'pg';
import t, { type Test } from 'tap';
import { REVISION_MAX } from '../../../src/base/limits.ts';
import { courtd, run } from '../../harness/daemon.ts';
import { event } from '../../harness/events.ts';
import { NatsServers } from '../../harness/nats.ts';
import { missingNats } from '../../harness/natsProgram.ts';
import { missingPostgres, startPostgres } from '../../harness/postgres.ts';
import { chunkOf, SimulatedBox } from '../../harness/simulatedBox.ts';

const ERASE = path.resolve(import.meta.dirname, '../../../scripts/consumer/erase.ts');
const CONSUMER = path.resolve(import.meta.dirname, '../../../scripts/consumer/postgresql.ts');
const skip = (await missingNats()) || missingPostgres();

interface Stored {
  readonly box: string;
  readonly epoch: string;
  readonly seq: string;
  readonly event: string;
}

/** A stream without boxes, and an empty database. */
async function headquarters(t: Test) {
  const [servers, database] = await Promise.all([NatsServers.start(t), startPostgres(t)]);
  t.equal((await courtd(['fleet', 'init', servers.url])).status, 0);
  const nc = await servers.connect(t);
  const db = new pg.Client({ connectionString: database });
  await db.connect();
  t.teardown(() => db.end());
  return { servers, database, nc, db };
}

t.test(
  'the reference consumer stores every event once, digit for digit, whatever its text and wherever it comes again',
  { skip },
  async (t) => {
    const { servers, database, nc, db } = await headquarters(t);

    const boxes = ['venue-a', 'venue-b', 'venue-c'].map((name) => new SimulatedBox(nc, name));
    const sent = new Map<string, string>();
    const keep = (box: SimulatedBox, lines: readonly string[]) => {
      for (const line of lines) sent.set(`${box.box} ${box.epoch} ${JSON.parse(line).seq}`, line);
    };
    // What jsonb would not take.
    const odd = { text: '\u0000 \ud800 "' };
    const chunk = async (box: SimulatedBox, count: number) => keep(box, await box.ship(count, odd));
    for (let i = 0; i < 6; i++) await chunk(boxes[i % 3]!, 1 + ((i * 37) % 90));

    const args = [CONSUMER, servers.url, database];
    t.equal((await run(process.execPath, [...args, '--once'])).status, 0);

    // A restored box begins behind what its backup has: an event that its camera sends again gets another seq.
    const [restored] = boxes as [SimulatedBox];
    const again = JSON.parse(sent.get('venue-a e1 1')!).event;
    restored.begin('e2', 20);
    const line = (seq: number, of: object) =>
      JSON.stringify({ seq, received_at: '2026-03-15T10:00:00.000Z', event: of });
    const fresh = line(22, event({ revision: REVISION_MAX })).replace(
      '"payload":{',
      '"payload":{"long":12345678901234567890.10,',
    );
    await restored.send(chunkOf(20, 22, [line(21, again), fresh]));
    keep(restored, [fresh]);

    const { status, stderr } = await run(process.execPath, [...args, '--once']);
    t.strictSame([status, stderr], [0, '']);
    const { rows } = await db.query<Stored>(
      'SELECT box, epoch, seq, event::text AS event FROM court_event ORDER BY box, epoch, seq',
    );
    const stored = new Map(rows.map(({ box, epoch, seq, event }) => [`${box} ${epoch} ${seq}`, event]));
    const textOf = (whole: string) => whole.slice(whole.indexOf('"event":') + 8, -1);
    t.equal(rows.length, sent.size);
    const highest = await db.query('SELECT max(revision) AS revision FROM court_event');
    t.strictSame(highest.rows, [{ revision: String(REVISION_MAX) }]);
    t.strictSame(
      [...stored].sort(),
      [...sent].map(([place, whole]) => [place, textOf(whole)]).sort(),
      'each event as it was sent, digit for digit',
    );
  },
);

t.test(
  'who is erased at headquarters is in neither the stream nor PostgreSQL, and everybody else is',
  { skip },
  async (t) => {
    const { servers, database, nc, db } = await headquarters(t);
    const [own, other] = [new SimulatedBox(nc, 'venue-a'), new SimulatedBox(nc, 'venue-b')];
    const hit = (player_id: unknown) => ({ type: 'BALL_HIT', payload: { player_id, to: ['anna-17'] } });
    const identity = { type: 'PLAYER_IDENTITY', payload: { player_id: 'anna-17', name: 'Anna' } };
    await own.ship(3);
    await own.ship(3, hit('p-2'));
    await own.ship(2, identity);
    await own.ship(2);
    await other.ship(2, hit('anna-17'));
    const erase = () => run(process.execPath, [ERASE, servers.url, database, 'venue-a', 'anna-17']);
    const consume = () => run(process.execPath, [CONSUMER, servers.url, database, '--once']);
    t.match(await consume(), { status: 0 });
    await own.ship(1, hit('anna-17'));
    t.match(await erase(), {
      status: 1,
      stderr: /the consumer has not stored message 6 yet: run it with --once first/,
    });
    t.match(await consume(), { status: 0 });
    t.match(await erase(), { status: 0, stdout: '6 events of venue-a changed, 3 messages deleted\n' });
    const { rows } = await db.query<{ box: string; event: string }>(
      'SELECT box, event::text AS event FROM court_event ORDER BY box, seq',
    );
    const [mine, theirs] = ['venue-a', 'venue-b'].map((name) =>
      rows.filter(({ box }) => box === name).map(({ event }) => event),
    ) as [string[], string[]];
    t.strictSame([mine.length, theirs.length], [11, 2]);
    t.notMatch(mine.join(''), /anna/i);
    t.equal(mine.join('').match(/"payload":\{\}/g)!.length, 2);
    t.equal(new Set(mine.join('').match(/erased-[a-z0-9]{8}/g)).size, 1, 'one name in a session');
    t.match(mine.join(''), /"player_id":"p-2","to":\["erased-/);
    t.match(theirs.join(''), /anna-17/, 'another box has other players');
    const { stdout } = await courtd(['fleet', 'tail', servers.url, '--after', '0', '--box', 'venue-a']);
    t.notMatch(stdout, /anna/i);
    t.match(await erase(), { status: 0, stdout: '0 events of venue-a changed, 0 messages deleted\n' });
    const check = await courtd([
      'fleet',
      'check',
      servers.url,
      '--json',
      '--monitor',
      servers.servers[0]!.monitor,
    ]);
    t.match(
      JSON.parse(check.stdout).find(({ name }: { name: string }) => name === 'chain'),
      { level: 'warn', message: /venue-a/ },
    );
  },
);

import path from 'node:path';
import pg from 'pg';
import t from 'tap';
import { REVISION_MAX } from '../../../src/base/limits.ts';
import { connectTo } from '../../../src/fleet/nats/connect.ts';
import { courtd, run, start } from '../../harness/daemon.ts';
import { event } from '../../harness/events.ts';
import { NatsServers } from '../../harness/nats.ts';
import { missingNats } from '../../harness/natsProgram.ts';
import { missingPostgres, startPostgres } from '../../harness/postgres.ts';
import { chunkOf, SimulatedBox } from '../../harness/simulatedBox.ts';

const CONSUMER = path.resolve(import.meta.dirname, '../../../scripts/consumer/postgresql.ts');
const KILLS = 8;
const skip = (await missingNats()) || missingPostgres();

interface Stored {
  readonly box: string;
  readonly epoch: string;
  readonly seq: string;
  readonly event: string;
}

t.test('the reference consumer, killed again and again, stores every event once', { skip }, async (t) => {
  const [servers, database] = await Promise.all([NatsServers.start(t), startPostgres(t)]);
  t.equal((await courtd(['fleet', 'init', servers.url])).status, 0);
  const nc = await connectTo({ url: servers.url, name: 'test' });
  t.teardown(() => nc.close());
  const db = new pg.Client({ connectionString: database });
  await db.connect();
  t.teardown(() => db.end());

  const boxes = ['venue-a', 'venue-b', 'venue-c'].map((name) => new SimulatedBox(nc, name));
  const sent = new Map<string, string>();
  const keep = (box: SimulatedBox, lines: readonly string[]) => {
    for (const line of lines) sent.set(`${box.box} ${box.epoch} ${JSON.parse(line).seq}`, line);
  };
  // What jsonb would not take.
  const odd = { text: '\u0000 \ud800 "' };
  const chunk = async (box: SimulatedBox, count: number) => keep(box, await box.ship(count, odd));
  for (let i = 0; i < 60; i++) await chunk(boxes[i % 3]!, 1 + ((i * 37) % 90));

  const args = [CONSUMER, servers.url, database];
  const storedNow = async () => {
    const { rows } = await db.query("SELECT to_regclass('court_event') AS is_made");
    if (rows[0].is_made === null) return 0;
    return Number((await db.query('SELECT count(*) AS count FROM court_event')).rows[0].count);
  };
  for (let kills = 0; kills < KILLS; kills++) {
    const before = await storedNow();
    const consumer = start(process.execPath, args);
    const ended = new Promise<string>((resolve) => consumer.once('close', () => resolve('ended')));
    t.teardown(() => consumer.kill('SIGKILL'));
    // More comes while it works.
    await chunk(boxes[kills % 3]!, 40);
    while ((await storedNow()) === before && consumer.exitCode === null) await chunk(boxes[1]!, 5);
    consumer.kill('SIGKILL');
    await ended;
    t.equal(consumer.signalCode, 'SIGKILL', 'it was at work');
  }

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
});

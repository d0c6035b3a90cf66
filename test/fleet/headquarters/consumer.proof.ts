import path from 'node:path';
import pg from 'pg';
import t from 'tap';
import { REVISION_MAX } from '../../../src/base/limits.ts';
import { connectTo } from '../../../src/fleet/nats/connect.ts';
import { courtd, run } from '../../harness/daemon.ts';
import { event } from '../../harness/events.ts';
import { NatsServers } from '../../harness/nats.ts';
import { missingNats } from '../../harness/natsProgram.ts';
import { missingPostgres, startPostgres } from '../../harness/postgres.ts';
import { chunkOf, SimulatedBox } from '../../harness/simulatedBox.ts';

const CONSUMER = path.resolve(import.meta.dirname, '../../../scripts/consumer/postgresql.ts');
const skip = (await missingNats()) || missingPostgres();

interface Stored {
  readonly box: string;
  readonly epoch: string;
  readonly seq: string;
  readonly event: string;
}

t.test(
  'the reference consumer stores every event once, digit for digit, whatever its text and wherever it comes again',
  { skip },
  async (t) => {
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

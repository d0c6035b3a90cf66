import fs from 'node:fs';
import path from 'node:path';
import t, { type Test } from 'tap';
import { DataDirectory } from '../../../src/base/dataDirectory.ts';
import { CHUNK_LIMITS, type Chunk, messageOf, readChunk, seqOf } from '../../../src/fleet/log/chunk.ts';
import { NatsFault } from '../../../src/fleet/nats/faults.ts';
import type { ShipReport } from '../../../src/fleet/report/shipReport.ts';
import { type BoxLog, openLog } from '../../../src/fleet/ship/boxLog.ts';
import { hasChunk, type LastChunk, Moved } from '../../../src/fleet/ship/cursor.ts';
import type { Headquarters } from '../../../src/fleet/ship/natsLog.ts';
import { Shipper } from '../../../src/fleet/ship/shipper.ts';
import type { WireEvent } from '../../../src/protocol/eventSchema.ts';
import { courtd, temporaryFolder } from '../../harness/daemon.ts';
import { event, events } from '../../harness/events.ts';
import { runInProcess } from '../../harness/inProcess.ts';
import { localFeed } from '../../harness/localFeed.ts';
import { Box } from './box.ts';

runInProcess();

const NEVER = new AbortController().signal;

/** Headquarters in this process: it accepts what `refuses` does not name. */
class MemoryLog implements Headquarters {
  readonly chunks: Chunk[] = [];
  readonly told: { ship: object }[] = [];
  refuses: (tries: number) => Error | undefined = () => undefined;
  #tries = 0;

  async connect(): Promise<void> {}

  async last(): Promise<LastChunk | undefined> {
    return this.chunks.length === 0 ? undefined : { place: this.chunks.length, chunk: this.chunks.at(-1) };
  }

  async publish(_epoch: string, chunk: Chunk, last: number): Promise<number> {
    const failure = this.refuses(this.#tries++);
    // An answer that is lost on its way back.
    const isLost = failure instanceof NatsFault && failure.kind === 'away';
    if (failure !== undefined && !isLost) throw failure;
    if (last !== this.chunks.length) throw new Moved();
    this.chunks.push(chunk);
    if (isLost) throw failure;
    return this.chunks.length;
  }

  async tell(status: string): Promise<void> {
    this.told.push(JSON.parse(status));
  }

  isOpen(): boolean {
    return true;
  }

  close(): void {}
}

function boxWith(t: Test, ...stored: WireEvent[]): Box {
  const box = new Box(t, temporaryFolder(t), {});
  box.put(...stored);
  return box;
}

const runDirOf = (box: Box) => box.env.COURTD_RUN_DIR!;

/** Ships what there is. */
async function shipOnce(box: Box, headquarters: MemoryLog, url = 'nats://hq') {
  const reports: ShipReport[] = [];
  const damage: string[] = [];
  const openFeed = () =>
    localFeed(new DataDirectory(box.data), { onDamage: (sentence) => damage.push(sentence) });
  const options = { box: 'venue-7', url, once: true, runDir: runDirOf(box), signal: NEVER };
  const onChange = (report: ShipReport) => reports.push(report);
  const report = await new Shipper(openFeed, headquarters, { ...options, onChange }).run();
  return { report, reports, damage };
}

async function logOf(t: Test, box: Box): Promise<BoxLog> {
  const log = await openLog(localFeed(new DataDirectory(box.data)));
  t.teardown(() => log.close());
  return log;
}

const seqs = ({ lines }: Pick<Chunk, 'lines'>) => lines.map(seqOf);

t.test(
  'chunks are full or the last, hold at least one event, and are a chain over missing seqs',
  async (t) => {
    const long = event({ payload: { long: 'x'.repeat(CHUNK_LIMITS.bytes) } });
    const box = boxWith(t, ...events(501), long, event());
    box.sql('DELETE FROM event WHERE seq IN (3, 501); UPDATE pruned SET up_to_seq = 501');
    const hq = new MemoryLog();
    t.match((await shipOnce(box, hq)).report, { state: 'current', shipped_seq: 503, error: null });
    t.strictSame(
      hq.chunks.map(({ after, last, lines }) => [after, last, lines.length]),
      [
        [0, 500, 499],
        [500, 502, 1],
        [502, 503, 1],
      ],
    );
    const { stdout } = await courtd(['tail', '--json', '--after', '0', '--data', box.data]);
    t.equal(hq.chunks.flatMap(({ lines }) => lines).join(''), stdout, 'each line is what tail writes');
  },
);

t.test('events that come one by one are gathered', async (t) => {
  const box = boxWith(t, event());
  const log = await logOf(t, box);
  const timer = setInterval(() => box.put(event()), 300);
  t.teardown(() => clearInterval(timer));
  const counts: number[] = [];
  for await (const { lines } of log.pieces(0)) if (counts.push(lines.length) === 2) break;
  t.equal(counts[0], 1, 'what is there comes at once');
  t.ok(counts[1]! > 1, `${counts[1]} events in the next chunk`);
});

t.test('a damaged event is not shipped, which is reported, and the rest is', async (t) => {
  const box = boxWith(t, ...events(4));
  const hq = new MemoryLog();
  box.sql('UPDATE event SET confidence = 0.5 WHERE seq IN (2, 4)');
  const { report, damage } = await shipOnce(box, hq);
  t.strictSame(hq.chunks.flatMap(seqs), [1, 3]);
  t.match(report, { state: 'current', shipped_seq: 3 });
  t.match(damage, [/\(revision 0, seq 2\)/]);
  box.put(event());
  t.match((await shipOnce(box, hq)).report, { state: 'current', shipped_seq: 5 });
  t.strictSame(hq.chunks.flatMap(seqs), [1, 3, 5]);
});

t.test('a chunk as a message, and back; a damaged message is none', async (t) => {
  const lines = await boxWith(t, event({ note: '"event":' }), event()).lines();
  const { data, headers } = await messageOf({ lines, last: 2, after: 0 });
  t.match(headers, { 'Courtd-After': '0', 'Courtd-Last': '2', 'Courtd-Count': '2' });
  const read = (changes: Record<string, string>) => {
    const all: Record<string, string> = { ...headers, ...changes };
    return readChunk(data, { get: (name) => all[name] ?? '' });
  };
  t.strictSame(read({}), { after: 0, last: 2, lines });
  for (const [name, value] of [
    ['Courtd-Last', '3'],
    ['Courtd-Count', '1'],
    ['Courtd-SHA256', 'f'.repeat(64)],
    ['Courtd-After', ''],
  ] as const)
    t.type(read({ [name]: value }), 'string', name);
});

t.test('a chunk is of this log if every event is the same, or was pruned', async (t) => {
  const box = boxWith(t, ...events(6));
  const has = async (chunk: Chunk) => hasChunk(await logOf(t, box), chunk);
  const lines = await box.lines();
  const own = { after: 2, last: 5, lines: lines.slice(2, 5) };
  t.equal(await has(own), true);
  const other = own.lines.map((line) => line.replace('0.97', '0.98'));
  t.equal(await has({ ...own, lines: other }), false);
  t.equal(await has({ ...own, last: 7 }), false, 'what has not been given here');
  box.sql('DELETE FROM event WHERE seq < 5');
  t.equal(await has(own), false, 'missing, and nobody has pruned it');
  box.sql('UPDATE pruned SET up_to_seq = 4');
  t.equal(await has(own), true);
});

t.test(
  'a fault is reported to the box and headquarters, and shipping continues unless the box is fenced',
  async (t) => {
    const box = boxWith(t, ...events(3));
    const hq = new MemoryLog();
    const faults = [new Moved(), new NatsFault('busy', 'It is full.'), new NatsFault('away', 'It is lost.')];
    hq.refuses = (tries) => faults[tries];
    const { report, reports } = await shipOnce(box, hq);
    t.match(
      reports.map(({ state, error }) => [state, error]),
      [
        ['behind', /^It is full\./],
        ['connecting', /^It is lost\./],
        ['current', null],
      ],
    );
    t.match(report, { state: 'current', shipped_seq: 3, epoch: /^[0-9a-f]{24}$/ });
    t.strictSame(hq.chunks.flatMap(seqs), [1, 2, 3], 'each once');
    t.match(hq.told.at(-1), { ship: { box: 'venue-7', state: 'current', shipped_seq: 3 } });
    fs.writeFileSync(path.join(runDirOf(box), 'status.json'), '{"state":"ok","ship":{"newest_seq":3}}');
    hq.chunks[0] = {
      after: 0,
      last: 3,
      lines: hq.chunks[0]!.lines.map((line) => line.replace('0.97', '0.98')),
    };
    t.match((await shipOnce(box, hq)).report, { state: 'fenced', error: /--new-epoch/ });
    t.match(
      hq.told.at(-1),
      { state: 'ok', ship: { state: 'fenced', newest_seq: 3 } },
      'with the status of the box',
    );
    t.match(await box.status(), { state: 'fenced', shipped_seq: 3 });
    await box.newEpoch();
    t.match((await shipOnce(box, new MemoryLog())).report, { state: 'current', error: null });
  },
);

t.test('if --once is ended before everything is shipped, the exit status is 1', async (t) => {
  const nobody = { COURTD_SHIP_URL: 'nats://127.0.0.1:1', COURTD_SHIP_BOX: 'venue-7' };
  const box = new Box(t, temporaryFolder(t), nobody);
  box.put(event());
  const shipper = box.ship('--once');
  await shipper.report(({ error }) => /cannot be reached/.test(`${error}`));
  t.equal(await shipper.stop(), 1);
});

t.test('a setting that is missing or wrong ends it with status 2 and names the setting', async (t) => {
  const good = { COURTD_SHIP_URL: 'nats://hq.example.org', COURTD_SHIP_BOX: 'venue-7' };
  for (const [changes, what] of [
    [{ COURTD_SHIP_URL: '' }, /COURTD_SHIP_URL is not set/],
    [{ COURTD_SHIP_URL: 'https://hq.example.org:4000' }, /"https:..hq.example.org:4000"/],
    [{ COURTD_SHIP_BOX: 'Venue 7' }, /COURTD_SHIP_BOX="Venue 7"/],
    [{ COURTD_SHIP_PLAYERS: 'none' }, /COURTD_SHIP_PLAYERS="none"/],
  ] as const) {
    const box = new Box(t, temporaryFolder(t), { ...good, ...changes });
    t.match(await box.once(), { status: 2, stderr: what });
  }
});

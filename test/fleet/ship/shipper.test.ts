import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { DataDirectory } from '../../../src/base/dataDirectory.ts';
import { LocalFeed } from '../../../src/fleet/feed/localFeed.ts';
import { readNote, type ShipReport } from '../../../src/fleet/feed/shipNote.ts';
import { CHUNK_LIMITS, eventOf, seqOf } from '../../../src/fleet/log/chunk.ts';
import { readChunk } from '../../../src/fleet/ship/readChunk.ts';
import { Shipper } from '../../../src/fleet/ship/shipper.ts';
import { type Chunk, chunkOf, messageOf } from '../../../src/fleet/ship/sink/message.ts';
import { type ChunkSink, SinkError } from '../../../src/fleet/ship/sink/sink.ts';
import { type Cursor, hasChunk } from '../../../src/fleet/ship/sink/startCursor.ts';
import type { WireEvent } from '../../../src/protocol/eventSchema.ts';
import { courtd, temporaryFolder } from '../../harness/daemon.ts';
import { event, events } from '../../harness/events.ts';
import { runInProcess } from '../../harness/inProcess.ts';
import { Box } from './box.ts';

runInProcess();

/** Headquarters in this process: it takes what `refuses` does not name. */
class MemorySink implements ChunkSink {
  readonly isSwappable = false;
  readonly chunks: Chunk[] = [];
  epoch = '';
  refuses: (chunk: Chunk, tries: number) => SinkError | undefined = () => undefined;
  #tries = 0;

  async readCursor(): Promise<Cursor> {
    return { epoch: this.epoch, seq: this.chunks.at(-1)?.last ?? 0, state: this.chunks.length };
  }

  async send(chunk: Chunk, cursor: Cursor): Promise<Cursor> {
    const failure = this.refuses(chunk, this.#tries++);
    if (failure !== undefined) throw failure;
    if (cursor.state !== this.chunks.length) throw new SinkError('moved', 'another one');
    this.chunks.push(chunk);
    return { ...cursor, seq: chunk.last, state: this.chunks.length };
  }

  readonly told: object[] = [];

  async tellStatus(read: () => Promise<object>): Promise<void> {
    this.told.push(((await read()) as { ship: object }).ship);
  }

  isOpen(): boolean {
    return true;
  }

  async close(): Promise<void> {}
}

function boxWith(t: Test, ...stored: WireEvent[]) {
  const box = new Box(t, temporaryFolder(t), {});
  box.put(...stored);
  const feed = new LocalFeed(new DataDirectory(box.data));
  // What it tells headquarters of the box takes a process of its own.
  feed.status = async () => undefined;
  t.teardown(() => feed.close());
  return { box, feed };
}

/** Ships what there is. */
async function shipOnce(feed: LocalFeed, sink: MemorySink, url = 'nats://hq') {
  sink.epoch = (await feed.state()).epochs.at(-1)!.name;
  const leftOut: string[] = [];
  const reports: ShipReport[] = [];
  const shipper = new Shipper(feed, sink, {
    box: 'venue-7',
    url,
    once: true,
    signal: new AbortController().signal,
    onReport: (report) => reports.push(report),
    onLeftOut: (sentence) => leftOut.push(sentence),
  });
  return { report: await shipper.run(), leftOut, reports };
}

const seqs = ({ lines }: Pick<Chunk, 'lines'>) => lines.map(seqOf);

t.test(
  'chunks are full or the last, hold at least one event, and are a chain over seqs that are gone',
  async (t) => {
    const { box, feed } = boxWith(
      t,
      ...events(501),
      event({ payload: { long: 'x'.repeat(CHUNK_LIMITS.bytes) } }),
      event(),
    );
    const sink = new MemorySink();
    box.sql('DELETE FROM event WHERE seq IN (3, 501); UPDATE pruned SET up_to_seq = 501');
    t.match((await shipOnce(feed, sink)).report, { state: 'current', shipped_seq: 503, error: null });
    t.strictSame(
      sink.chunks.map(({ after, last, lines }) => [after, last, lines.length]),
      [
        [0, 500, 499],
        [500, 502, 1],
        [502, 503, 1],
      ],
    );
    const { stdout } = await courtd(['tail', '--json', '--after', '0', '--data', box.data]);
    t.equal(sink.chunks.flatMap(({ lines }) => lines).join(''), stdout, 'each line is what tail writes');
  },
);

t.test('events that come one by one are gathered, also the first after a pause', async (t) => {
  const { box, feed } = boxWith(t);
  const { epochs } = await feed.state();
  let asked = 0;
  const next = feed.next.bind(feed);
  feed.next = async (after, most) => {
    if (asked++ > 0) box.put(event());
    return next(after, most);
  };
  const wanted = { after: 0, epoch: epochs.at(-1)!.name, most: CHUNK_LIMITS.events, waits: true };
  const first = await readChunk(feed, wanted, new AbortController().signal);
  t.strictSame([asked, first.lines.length], [5, 4], 'nothing at first, then one each time in 2 s');
});

t.test('headquarters is told why the box waits, what it left out, and that it is fenced', async (t) => {
  const { feed } = boxWith(t, event());
  const full = new MemorySink();
  full.refuses = (_chunk, tries) => (tries === 0 ? new SinkError('waiting', 'it is full') : undefined);
  await shipOnce(feed, full);
  t.match(
    full.told,
    [{ state: 'behind', error: 'it is full' }],
    'while it waits, and not again within a minute',
  );

  const poisoned = new MemorySink();
  poisoned.refuses = () => new SinkError('poison', 'too large.');
  await shipOnce(boxWith(t, event()).feed, poisoned);
  t.match(poisoned.told, [{ state: 'current', error: /^seq 1 .* is not shipped: too large\./ }]);

  const other = new MemorySink();
  other.refuses = (_chunk, tries) => (tries === 0 ? undefined : new SinkError('fenced', 'another box'));
  await shipOnce(boxWith(t, ...events(CHUNK_LIMITS.events + 1)).feed, other);
  t.match(other.told.at(-1), { state: 'fenced', error: 'another box' });
});

t.test('a damaged event is not shipped, which is said, and the rest goes on', async (t) => {
  const { box, feed } = boxWith(t, ...events(4));
  const sink = new MemorySink();
  box.sql('UPDATE event SET confidence = 0.5 WHERE seq IN (2, 4)');
  const { report, leftOut } = await shipOnce(feed, sink);
  t.strictSame(sink.chunks.flatMap(seqs), [1, 3]);
  t.match(report, {
    state: 'current',
    shipped_seq: 3,
    error: /left out: event .* \(revision 0, seq 4\).* is not shipped/,
  });
  t.match(leftOut[0], /\(revision 0, seq 2\)/);
  box.put(event());
  t.match((await shipOnce(feed, sink)).report, { state: 'current', shipped_seq: 5 });
  t.strictSame(sink.chunks.flatMap(seqs), [1, 3, 5]);
});

t.test('a chunk as a message, and back; what is damaged is none', async (t) => {
  const { feed } = boxWith(t, event({ note: '"event":' }), event());
  const piece = await feed.next(0, CHUNK_LIMITS.events);
  const { data, headers } = await messageOf({ ...piece, after: 0 });
  t.match(headers, {
    'Courtd-After': '0',
    'Courtd-Last': '2',
    'Courtd-Count': '2',
    'Courtd-SHA256': /^[0-9a-f]{64}$/,
  });
  const read = (changes: Record<string, string>) => {
    const all: Record<string, string> = { ...headers, ...changes };
    return chunkOf(data, { get: (name) => all[name] ?? '' });
  };
  t.strictSame(read({}), { after: 0, last: 2, lines: piece.lines });
  for (const wrong of [
    { 'Courtd-Last': '3' },
    { 'Courtd-Count': '1' },
    { 'Courtd-SHA256': 'f'.repeat(64) },
    { 'Courtd-After': '' },
  ]) {
    t.equal(read(wrong), undefined, JSON.stringify(wrong));
  }
  t.equal(JSON.parse(eventOf(piece.lines[0]!)).note, '"event":');
});

t.test('a chunk is of this log where every event is the same, or was pruned', async (t) => {
  const { box, feed } = boxWith(t, ...events(6));
  const { lines } = await feed.next(0, CHUNK_LIMITS.events);
  const own = { after: 2, last: 5, lines: lines.slice(2, 5) };
  t.equal(await hasChunk(feed, own), true);
  const other = own.lines.map((line) => line.replace('0.97', '0.98'));
  t.equal(await hasChunk(feed, { ...own, lines: other }), false);
  t.equal(await hasChunk(feed, { ...own, last: 7 }), false, 'what has not been given here');
  box.sql('DELETE FROM event WHERE seq < 5');
  t.equal(await hasChunk(feed, own), false, 'missing, and nobody has pruned it');
  box.sql('UPDATE pruned SET up_to_seq = 4');
  t.equal(await hasChunk(feed, own), true);
});

t.test('a chunk that claims to reach far does not have the whole log read', async () => {
  let pieces = 0;
  const line = (seq: number) => `{"seq":${seq},"event":{}}\n`;
  const feed = {
    state: async () => ({ epochs: [], lastSeq: 1_000_000, prunedSeq: 0, report: undefined }),
    next: async (after: number) => {
      pieces++;
      return { epoch: 'e', lines: [line(after + 1), line(after + 2)], last: after + 2, isLast: false };
    },
  } as Partial<LocalFeed> as LocalFeed;
  t.equal(await hasChunk(feed, { after: 0, last: 1_000_000, lines: [1, 1_000_000].map(line) }), false);
  t.ok(pieces < 5, `${pieces} pieces were read`);
});

t.test('what headquarters never takes is found by halving, told, and left out', async (t) => {
  const { box, feed } = boxWith(t, ...events(20));
  const sink = new MemorySink();
  const bad = [7, 20];
  sink.refuses = (chunk) =>
    seqs(chunk).some((seq) => bad.includes(seq)) ? new SinkError('poison', 'never.') : undefined;
  const { report, leftOut } = await shipOnce(feed, sink);
  t.match(report, { state: 'current', shipped_seq: 20, error: /seq 20 .* is not shipped: never/ });
  t.match(leftOut, [/^seq 7 \(event \w+ of session session-1\)/, /^seq 20 /]);
  t.strictSame(
    sink.chunks.flatMap(seqs),
    Array.from({ length: 20 }, (_, i) => i + 1).filter((seq) => !bad.includes(seq)),
  );
  t.ok(
    sink.chunks.every(({ after }, i) => after === (sink.chunks[i - 1]?.last ?? 0)),
    'the chain has no hole',
  );
  t.match(readNote(new DataDirectory(box.data)), { shipped_seq: 20, running: false, state: 'current' });
});

t.test('what headquarters never took stays named, also by the next shipper of the same log', async (t) => {
  const { box, feed } = boxWith(t, ...events(3));
  const sink = new MemorySink();
  sink.refuses = (chunk) => (seqs(chunk).includes(2) ? new SinkError('poison', 'never.') : undefined);
  await shipOnce(feed, sink);
  await feed.close();
  const next = new LocalFeed(new DataDirectory(box.data));
  t.teardown(() => next.close());
  const named =
    /^seq 2 .* is not shipped: never. Only this box has it, and a prune treats it like what is shipped/;
  t.match((await shipOnce(next, sink)).report, { state: 'current', shipped_seq: 3, error: named });
  t.match(await box.status(), { state: 'current', error: named });
  t.equal((await box.command('ship', 'epoch', '--new')).status, 0);
  t.match((await shipOnce(next, new MemorySink())).report, { state: 'current', error: null });
});

t.test('whatever headquarters says, and however long the URL is, the report can be read back', async (t) => {
  const { box, feed } = boxWith(t, ...events(2));
  const url = `tls://${'ä'.repeat(20_000)}`;
  for (const character of ['x', '€', '\u0001', '\ud800', '🎾']) {
    const sink = new MemorySink();
    sink.refuses = (_chunk, tries) =>
      tries < 2
        ? new SinkError('poison', character.repeat(20_000))
        : new SinkError('fenced', character.repeat(20_000));
    const { report } = await shipOnce(feed, sink, url);
    t.match(report, { state: 'fenced', shipped_seq: 1 });
    t.match(
      readNote(new DataDirectory(box.data)),
      { state: 'fenced', shipped_seq: 1, left_out: /^seq 1 / },
      character,
    );
    t.equal((await box.command('ship', 'epoch', '--new')).status, 0);
  }
});

t.test('where --once is ended before everything is shipped, the exit status is 1', async (t) => {
  const silent = net.createServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  const box = new Box(t, temporaryFolder(t), {
    COURTD_SHIP_URL: `nats://127.0.0.1:${port}`,
    COURTD_SHIP_BOX: 'venue-7',
  });
  box.put(event());
  const shipper = box.ship('--once');
  const [socket] = await once(silent, 'connection');
  t.teardown(() => {
    socket.destroy();
    silent.close();
  });
  t.equal(await shipper.stop(), 1);
});

t.test('the destination is NATS: another scheme is refused before anything is read', async (t) => {
  const box = new Box(t, temporaryFolder(t), {
    COURTD_SHIP_URL: 'https://hq.example.org:4000',
    COURTD_SHIP_BOX: 'venue-7',
  });
  const { status, stderr } = await box.once();
  t.equal(status, 2);
  t.match(stderr, /^courtd: "https:..hq.example.org:4000" is no address of NATS servers. Give nats:/);
  const { stdout } = await box.command('check', '--json');
  t.match(
    JSON.parse(stdout).find(({ name }: { name: string }) => name === 'ship'),
    { level: 'fail', message: /^COURTD_SHIP_URL is wrong. "https:.* is no address of NATS/ },
  );
});

import fs from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { eotToNs } from '../../src/protocol/eot.ts';
import { Daemon, temporaryFolder } from '../harness/daemon.ts';
import { keyOf } from '../harness/events.ts';
import { untilExit } from '../harness/untilExit.ts';

/**
 * A careless client, to try courtd with real events: `npx node test/overload/careless.ts FILE.ndjson.gz...` starts courtd in
 * an empty folder, sends every line of the files through HTTP from several senders at once, in shuffled batches of 1
 * to 500, a third of them twice, and compares the export of every session with what was sent. Exit status 1 where
 * anything differs.
 */

const SENDERS = 6;
const BATCH = 500;

interface Sent {
  readonly text: string;
  readonly key: string;
  readonly session: string;
}

interface Answer {
  readonly accepted: number;
  readonly duplicates: number;
}

const data = temporaryFolder(untilExit);
const daemon = await Daemon.start(untilExit, [], data);
await run(process.argv.slice(2).flatMap(readEvents));
await daemon.stop();
// With it goes the folder.
process.exit();

async function run(events: Sent[]): Promise<void> {
  const batches = shuffled(batchesOf(shuffled(events)));
  const queue = shuffled([...batches, ...batches.filter(() => Math.random() < 1 / 3)]);
  const total = { accepted: 0, duplicates: 0, requests: queue.length };
  const sent = queue.reduce((sum, batch) => sum + batch.length, 0);
  const startedAt = performance.now();
  const sender = async () => {
    for (let batch = queue.pop(); batch !== undefined; batch = queue.pop()) {
      const { accepted, duplicates } = await post(batch);
      total.accepted += accepted;
      total.duplicates += duplicates;
    }
  };
  await Promise.all(Array.from({ length: SENDERS }, sender));
  const seconds = (performance.now() - startedAt) / 1000;
  console.log(
    `${sent} events sent in ${total.requests} requests by ${SENDERS} senders in ${seconds.toFixed(1)} s`,
  );
  console.log(
    `${total.accepted} accepted, ${total.duplicates} duplicates (sum ${total.accepted + total.duplicates})`,
  );
  await compare(events);
}

/** Every event must come back as one of the copies that were sent under its key, once, in the order of eot. */
async function compare(events: Sent[]): Promise<void> {
  const copies = Map.groupBy(events, ({ key }) => key);
  const sessions = JSON.parse((await daemon.command('session', 'list', '--json')).stdout) as {
    session_id: string;
    conflicts: number;
  }[];
  let [stored, wrong, unordered, conflicts] = [0, 0, 0, 0];
  for (const { session_id, conflicts: inConflict } of sessions) {
    let lastNs: bigint | undefined;
    for (const line of await daemon.exported(session_id)) {
      const event = JSON.parse(line);
      const eotNs = eotToNs(event.eot)!;
      if (lastNs !== undefined && eotNs < lastNs) unordered++;
      lastNs = eotNs;
      const key = keyOf(event);
      if (!copies.get(key)?.some(({ text }) => isDeepStrictEqual(JSON.parse(text), event))) wrong++;
      copies.delete(key);
      stored++;
    }
    conflicts += inConflict;
  }
  console.log(`${stored} stored in ${sessions.length} sessions, ${conflicts} keys in conflict`);
  console.log(`${copies.size} missing, ${wrong} not as sent, ${unordered} out of order`);
  if (copies.size + wrong + unordered > 0) process.exitCode = 1;
}

async function post(batch: Sent[]): Promise<Answer> {
  const response = await daemon.post(`[${batch.map(({ text }) => text).join(',')}]`);
  if (response.status !== 202) throw new Error(`${response.status} ${await response.text()}`);
  return (await response.json()) as Answer;
}

function readEvents(file: string): Sent[] {
  const lines = gunzipSync(fs.readFileSync(file)).toString().split('\n');
  return lines.filter(Boolean).map((text) => {
    const event = JSON.parse(text);
    return { text, key: keyOf(event), session: event.session_id };
  });
}

function batchesOf(events: Sent[]): Sent[][] {
  const batches: Sent[][] = [];
  for (let at = 0; at < events.length; ) {
    const size = 1 + Math.floor(Math.random() * BATCH);
    batches.push(events.slice(at, at + size));
    at += size;
  }
  return batches;
}

function shuffled<Item>(items: readonly Item[]): Item[] {
  return items
    .map((item) => ({ item, rank: Math.random() }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ item }) => item);
}

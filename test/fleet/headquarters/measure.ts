import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { jetstreamManager } from '@nats-io/jetstream';
import { DataDirectory } from '../../../src/base/dataDirectory.ts';
import { makeStreams } from '../../../src/fleet/headquarters/init.ts';
import { eventOf } from '../../../src/fleet/log/chunk.ts';
import { decodeBatch } from '../../../src/protocol/decodeBatch.ts';
import { openDatabase } from '../../../src/store/open/openDatabase.ts';
import { BIN, cleanEnvironment, courtd, start, temporaryFolder } from '../../harness/daemon.ts';
import { Endings } from '../../harness/endings.ts';
import { NatsServers } from '../../harness/nats.ts';
import { Committer } from '../../harness/scratchStore.ts';
import { chunkOf, SimulatedBox } from '../../harness/simulatedBox.ts';

/**
 * What headquarters does while boxes catch up: `node test/fleet/measure.ts [--boxes 10] [--events 100000] [--chunk 500]
 * [--servers 3] [--sync always] [--real]`. Boxes and servers share one machine and its disk, so a rate is that of all of them
 * together; processor time and bytes per event are the servers' own. With `--real` each box is a `courtd ship` on a database.
 */

const { values } = parseArgs({
  options: {
    boxes: { type: 'string', default: '10' },
    /** Of each box. */
    events: { type: 'string', default: '100000' },
    /** Events in a message. */
    chunk: { type: 'string', default: '500' },
    servers: { type: 'string', default: '3' },
    sync: { type: 'string', default: 'always' },
    real: { type: 'boolean', default: false },
  },
});
const [boxes, events, chunk] = [values.boxes, values.events, values.chunk].map(Number) as [
  number,
  number,
  number,
];
const count = values.servers === '1' ? 1 : 3;
/** Kernel's unit of processor time in /proc (USER_HZ). */
const TICKS_PER_S = 100;

/** @returns seconds of processor time that a process has had. */
function cpuOf(pid: number): number {
  const fields = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_S;
}

function residentMiB(pid: number): number {
  return Number(/^VmHWM:\s+(\d+)/m.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}

/** An event as cameras send them: ids that do not compress, positions that do a little. */
function cameraLine(seq: number, box: number): string {
  const two = (most: number) => Math.round(Math.random() * most * 100) / 100;
  const receivedMs = Date.UTC(2026, 2, 14, 9) + seq * 100;
  const court = `court-${seq % 8}`;
  const event = {
    event_id: randomBytes(12).toString('hex'),
    session_id: `match-${box}-${court}-${Math.floor(seq / 32_000)}`,
    venue_id: `venue-${box}`,
    court_id: court,
    eot: new Date(receivedMs - 300).toISOString(),
    type: seq % 2 === 0 ? 'BALL_HIT' : 'BALL_BOUNCE',
    confidence: two(1),
    source: `${court}-cam-1`,
    schema_version: '1.0',
    revision: 0,
    payload: { x_ft: two(20), y_ft: two(44), is_in: seq % 7 !== 0, player_id: `p${seq % 4}` },
  };
  return `{"seq":${seq},"received_at":"${new Date(receivedMs).toISOString()}","event":${JSON.stringify(event)}}`;
}

/** @returns the data directory of a box that has so many events, the lines of `tail` above. */
function databaseWith(count: number): string {
  const data = temporaryFolder(endings);
  const db = openDatabase(new DataDirectory(data), { create: true });
  const committer = new Committer(db);
  for (let seq = 1; seq <= count; seq += chunk) {
    const lines = Array.from({ length: Math.min(chunk, count - seq + 1) }, (_, i) => cameraLine(seq + i, 1));
    committer.append(...decodeBatch(Buffer.from(`[${lines.map(eventOf).join(',')}]`)));
  }
  committer.sealAll();
  db.close();
  return data;
}

await using endings = new Endings();
const servers = await NatsServers.start(endings, { servers: count, syncInterval: values.sync });
const nc = await servers.connect(endings);
await makeStreams(nc, count, () => {});
const pids = servers.servers.map(({ pid }) => pid!);
const cpu = () => pids.map(cpuOf).reduce((a, b) => a + b);

const first = values.real ? databaseWith(events) : '';
const copies = values.real ? Array.from({ length: boxes }, () => temporaryFolder(endings)) : [];
for (const copy of copies) fs.cpSync(first, copy, { recursive: true });

const before = cpu();
const own = process.cpuUsage();
const startedAt = performance.now();
let [bytes, lineBytes, messages] = [0, 0, 0];
const waits: number[] = [];
const simulated = async (number: number) => {
  const box = new SimulatedBox(nc, `venue-${number}`);
  for (let after = 0; after < events; after += chunk) {
    const last = Math.min(after + chunk, events);
    const lines = Array.from({ length: last - after }, (_, i) => cameraLine(after + i + 1, number));
    const next = chunkOf(after, last, lines);
    bytes += next.data.length;
    lineBytes += lines.reduce((sum, line) => sum + line.length + 1, 0);
    messages++;
    const sentAt = performance.now();
    await box.send(next);
    waits.push(performance.now() - sentAt);
  }
};
const jsm = await jetstreamManager(nc);
/** @returns processor seconds of the shippers, once everything is there. */
const real = async () => {
  const shippers = copies.map((data, i) => {
    const env = { COURTD_SHIP_URL: servers.url, COURTD_SHIP_BOX: `venue-${i + 1}` };
    const child = start(BIN, ['ship', '--data', data], { env: cleanEnvironment(env) });
    endings.teardown(() => child.kill('SIGKILL'));
    child.stdout.resume();
    child.stderr.resume();
    return child.pid!;
  });
  messages = boxes * Math.ceil(events / chunk);
  while ((await jsm.streams.info('FLEET')).state.messages < messages) await sleep(250);
  memory = Math.max(...shippers.map(residentMiB));
  return shippers.map(cpuOf).reduce((a, b) => a + b);
};
let memory = Number.NaN;
let boxesSpent: number;
if (values.real) boxesSpent = await real();
else {
  await Promise.all(Array.from({ length: boxes }, (_, i) => simulated(i + 1)));
  const { user, system } = process.cpuUsage(own);
  boxesSpent = (user + system) / 1e6;
}
const seconds = (performance.now() - startedAt) / 1_000;
const spent = cpu() - before;
const total = boxes * events;
waits.sort((a, b) => a - b);
const { state } = await jsm.streams.info('FLEET');
const checkedAt = performance.now();
const { results } = await servers.check();
const checkS = (performance.now() - checkedAt) / 1_000;
const chain = results.find(({ name }) => name === 'chain')!;
const statusAt = performance.now();
await courtd(['fleet', 'status', servers.url, '--json']);
const rows = {
  machine: `${os.availableParallelism()} x ${os.cpus()[0]?.model}, load ${os.loadavg()[0]!.toFixed(1)}`,
  'servers, sync_interval': `${count}, ${values.sync}`,
  'boxes x events, events a message': `${boxes} x ${events}, ${chunk}`,
  'events/s in all': Math.round(total / seconds),
  'messages/s in all': Math.round(messages / seconds),
  ...(values.real
    ? { 'MiB of memory of a box, at most': Math.round(memory) }
    : {
        'ms until an ack, p50 and p99': [0.5, 0.99]
          .map((p) => waits[Math.floor(p * (waits.length - 1))]!.toFixed(1))
          .join(', '),
        'bytes an event: as lines, sent': [lineBytes, bytes]
          .map((sum) => (sum / total).toFixed(0))
          .join(', '),
      }),
  'processor seconds of all servers, per million events': ((spent / total) * 1e6).toFixed(1),
  'processor ms of all servers, per message': ((spent / messages) * 1e3).toFixed(2),
  'processor seconds of the boxes, per million events': ((boxesSpent / total) * 1e6).toFixed(1),
  'bytes an event on each server': (state.bytes / total).toFixed(0),
  'MiB of memory of a server, at most': Math.round(Math.max(...pids.map(residentMiB))),
  'fleet check': `${checkS.toFixed(1)} s, ${chain.level}: ${chain.message}`,
  'fleet status, s': ((performance.now() - statusAt) / 1_000).toFixed(1),
};
for (const [name, value] of Object.entries(rows)) console.log(`| ${name} | ${value} |`);

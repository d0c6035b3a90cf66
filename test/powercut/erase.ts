import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import type { WireEvent } from '../../src/protocol/eventSchema.ts';
import { Random } from '../../src/vendor/simulate/random.ts';
import { courtd, Daemon } from '../harness/daemon.ts';
import { event, events } from '../harness/events.ts';
import { countsAreRight } from '../harness/storedReader.ts';
import { untilExit } from '../harness/untilExit.ts';
import { Workshop } from '../harness/workshop.ts';
import { makeImage, RecordedDisk } from './disk.ts';
import { missingNeeds } from './needs.ts';
import { SERVE } from './opened.ts';
import { IN_FLIGHT, Platter } from './platter.ts';
import { dataIn } from './recording.ts';

/**
 * The power goes while a player is erased: `sudo npx node test/powercut/erase.ts [CUTS]`. After each cut every event that was
 * acknowledged is there, and the erasure that is called again ends it. Exit status 1 where anything is not so.
 */

const ANNA = 'anna-kowalska-07';
const NAME = 'Anna Kowalska-Example';
const EVENTS = 10_000;
const BATCH = 500;

const lacks = missingNeeds();
if (lacks !== undefined) throw new Error(lacks);
const workshop = new Workshop('erase');
const random = new Random(1);
const live = makeImage(workshop, 128);
const image = workshop.file('before');
execFileSync('cp', ['--sparse=auto', live, image]);
const disk = await RecordedDisk.start(workshop, live);
const { log } = disk;
const daemon = await Daemon.start(untilExit, SERVE, dataIn(disk.folder));
for (let sent = 0; sent < EVENTS; sent += BATCH) {
  const batch: WireEvent[] = events(BATCH, { session_id: `match-${sent % 3}`, type: 'PLAYER_POSITION' }).map(
    (one, i) => ({
      ...one,
      payload: { player_id: i % 3 === 0 ? ANNA : 'bea', x_ft: i },
    }),
  );
  batch[0] = event({ type: 'PLAYER_IDENTITY', payload: { player_id: ANNA, name: NAME } });
  if ((await daemon.post(batch)).status !== 202) throw new Error('not stored');
}
const begun = log.length();
await erase(daemon.data);
const ended = log.length();
await daemon.stop();
disk.stop();
const platter = new Platter(image, log);
const count = Number(process.argv[2] ?? 20);
const cuts = Array.from({ length: count }, () => random.integer(begun, ended)).sort((a, b) => a - b);
const faults: string[] = [];
for (const cut of cuts) {
  const inFlight = random.pick(IN_FLIGHT);
  const after = workshop.file('cut');
  platter.cut(cut, inFlight, random, after);
  const mounted = workshop.mount(after, 'after');
  const data = dataIn(mounted.folder);
  try {
    const next = await Daemon.run(untilExit, data, daemon.token, SERVE);
    const stored = storedIn(data);
    if (stored !== EVENTS) faults.push(`cut ${cut}, ${inFlight}: ${stored} events`);
    await erase(data);
    await next.stop();
    faults.push(...look(data).map((fault) => `cut ${cut}, ${inFlight}: ${fault}`));
  } catch (error) {
    faults.push(`cut ${cut}, ${inFlight}: ${error}`);
  } finally {
    mounted.unmount();
  }
}
for (const fault of faults) console.log(fault);
console.log(`erasure: ${count} power cuts in ${ended - begun} writes: ${faults.length} faults`);
workshop.end();
process.exit(faults.length === 0 ? 0 : 1);

async function erase(data: string): Promise<void> {
  const { status, stdout, stderr } = await courtd(['player', 'erase', ANNA, '--yes', '--data', data]);
  if (status !== 0) throw new Error(stdout + stderr);
}

function storedIn(data: string): number {
  const db = new Database(path.join(data, 'courtd.db'), { readonly: true });
  try {
    return db.prepare<[], number>('SELECT count(*) FROM event').pluck().get()!;
  } finally {
    db.close();
  }
}

function look(data: string): string[] {
  const faults: string[] = [];
  for (const name of fs.readdirSync(data)) {
    const file = path.join(data, name);
    if (!fs.statSync(file).isFile()) continue;
    for (const text of [ANNA, NAME])
      if (fs.readFileSync(file).includes(text)) faults.push(`${name} has ${text}`);
  }
  const db = new Database(path.join(data, 'courtd.db'), { readonly: true });
  const integrity = db.pragma('integrity_check', { simple: true });
  const names = db
    .prepare("SELECT count(DISTINCT session) FROM event WHERE erased = 1 AND payload <> '{}'")
    .pluck()
    .get();
  if (integrity !== 'ok' || !countsAreRight(db)) faults.push(`the database: ${integrity}`);
  if (names !== 0) faults.push('something of his is not empty');
  db.close();
  return faults;
}

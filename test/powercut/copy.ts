import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { parseArgs } from 'node:util';
import Database from 'better-sqlite3';
import { DataDirectory } from '../../src/base/dataDirectory.ts';
import { CopyFollower } from '../../src/store/backup/follow.ts';
import { openDatabase } from '../../src/store/open/openDatabase.ts';
import { Random } from '../../src/vendor/simulate/random.ts';
import { events } from '../harness/events.ts';
import { Committer, court } from '../harness/scratchStore.ts';
import { Workshop } from '../harness/workshop.ts';
import { makeImage, RecordedDisk } from './disk.ts';
import { missingNeeds } from './needs.ts';
import { IN_FLIGHT, Platter } from './platter.ts';

/**
 * Power cuts of a stick: `node test/powercut/copy.ts [--cuts 200] [--seed 1]`. A follower keeps a copy on a disk whose every write is
 * logged, while events come and some are deleted; then the power is cut at random writes, most right behind a round. On what is left
 * a follower goes on. Prints, as JSON:
 *
 * - `lost`: cuts after which something was missing before what a round had said. `wrong`: after which the copy was damaged, or had what
 *   the box never had. `unfinished`: after which it was not as the box when it had been followed again.
 */

const [ROUNDS, ROUND_EVENTS, MEBIBYTES] = [60, 40, 64];

const { values } = parseArgs({
  options: { cuts: { type: 'string', default: '200' }, seed: { type: 'string', default: '1' } },
});
const lacks = missingNeeds();
if (lacks !== undefined) throw new Error(lacks);
const random = new Random(Number(values.seed));
const workshop = new Workshop('copy');
const box = new DataDirectory(workshop.file('box'));
const live = makeImage(workshop, MEBIBYTES);
const image = workshop.file('before');
execFileSync('cp', ['--sparse=auto', live, image]);
const disk = await RecordedDisk.start(workshop, live);

/** What a round had said, and how many writes there had been by then. */
const answered: { readonly seq: number; readonly at: number }[] = [];
const ever = new Set<string>();
for (let round = 0; round < ROUNDS; round++) {
  const db = openDatabase(box, { create: true });
  new Committer(db).append(...court(...events(ROUND_EVENTS)));
  if (random.chance(0.2))
    db.exec(`DELETE FROM event WHERE seq % 50 = ${random.integer(0, 49)} AND seq < ${round * ROUND_EVENTS}`);
  for (const row of rowsOf(db)) ever.add(row);
  db.close();
  await new CopyFollower(box, disk.folder).round(({ seq }) => answered.push({ seq, at: disk.log.length() }));
}
const end = disk.log.length();
disk.stop();

const whole = open(box.file('database'), rowsOf);
const platter = new Platter(image, disk.log);
const chosen = Array.from({ length: Number(values.cuts) }, () =>
  random.chance(0.6) ? random.pick(answered).at : random.integer(0, end),
).sort((a, b) => a - b);
const seen = { lost: 0, wrong: 0, unfinished: 0 };
for (const cut of chosen) {
  const file = workshop.file('cut');
  platter.cut(cut, random.pick(IN_FLIGHT), random, file);
  const { folder, unmount } = workshop.mount(file, 'after');
  const copy = path.join(folder, 'courtd.db');
  const said = answered.findLast(({ at }) => at <= cut)?.seq ?? 0;
  if (said > 0) {
    const { rows, integrity } = open(copy, (db) => ({
      rows: new Set(rowsOf(db)),
      integrity: db.pragma('integrity_check', { simple: true }),
    }));
    if (whole.some((row) => Number.parseInt(row, 10) <= said && !rows.has(row))) seen.lost++;
    if (integrity !== 'ok' || ![...rows].every((row) => ever.has(row))) seen.wrong++;
  }
  await new CopyFollower(box, folder).round(() => {});
  if (open(copy, rowsOf).join('\n') !== whole.join('\n')) seen.unfinished++;
  unmount();
}
process.stdout.write(
  `${JSON.stringify({ cuts: chosen.length, ...seen, writes: end, rounds: answered.length })}\n`,
);
if (seen.lost + seen.wrong + seen.unfinished > 0) process.exitCode = 1;
workshop.end();

function rowsOf(db: Database.Database): string[] {
  return db
    .prepare<[], unknown[]>('SELECT * FROM event ORDER BY seq')
    .raw()
    .safeIntegers()
    .all()
    .map((row) => row.join('|'));
}

function open<Result>(file: string, work: (db: Database.Database) => Result): Result {
  const db = new Database(file);
  try {
    return work(db);
  } finally {
    db.close();
  }
}

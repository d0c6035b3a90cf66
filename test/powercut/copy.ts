import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { Random } from '../../src/vendor/simulate/random.ts';
import { CopyingBox, Courier, feedOf } from '../fleet/ship/copied.ts';
import { Endings } from '../harness/endings.ts';
import { Workshop } from '../harness/workshop.ts';
import { makeImage, RecordedDisk } from './disk.ts';
import { missingNeeds } from './needs.ts';
import { IN_FLIGHT, Platter } from './platter.ts';

/**
 * Power cuts of a stick: `node test/powercut/copy.ts [--cuts 200] [--seed 1]`. A shipper copies a log to a disk whose every write is
 * logged, with a file for each day, and begins anew now and then, which changes box.json; then the power is cut at random writes,
 * most right behind an acknowledgement. On what is left a shipper goes on. Prints, as JSON:
 *
 * - `lost`: cuts after which something was missing before what had been acknowledged. `wrong`: after which the copy was not the
 *   log's beginning, each event once. `unfinished`: after which it was not the whole log when it had been copied on.
 * - `torn`: cuts that left bytes behind the last whole member. `nameless`: that left no box.json, or half of one, beside events.
 */

const [DAYS, DAY_EVENTS, CHUNK, CHUNKS_A_RUN] = [8, 60, 3, 15];
const NOISE_BYTES = 6_000;
const MEBIBYTES = 64;

const { values } = parseArgs({
  options: { cuts: { type: 'string', default: '200' }, seed: { type: 'string', default: '1' } },
});
const lacks = missingNeeds();
if (lacks !== undefined) throw new Error(lacks);
const random = new Random(Number(values.seed));
const days = Array.from(
  { length: DAYS * DAY_EVENTS },
  (_, i) => `2026-11-${10 + Math.floor(i / DAY_EVENTS)}`,
);
const feed = feedOf(days, undefined, undefined, () => randomBytes(NOISE_BYTES).toString('base64'));
const whole = (await feed.next(0, days.length)).lines;
const workshop = new Workshop('copy');
const live = makeImage(workshop, MEBIBYTES);
const image = workshop.file('before');
execFileSync('cp', ['--sparse=auto', live, image]);
const disk = await RecordedDisk.start(workshop, live);
await using endings = new Endings();

/** What was acknowledged, and how many writes there had been by then. */
const answered: { readonly seq: number; readonly at: number }[] = [];
for (let runs = 0; (answered.at(-1)?.seq ?? 0) < days.length; runs++) {
  const told = {
    ...feed,
    identity: async () => ({ venue: `venue-${runs}`, oldestSeq: 1, tokens: null, erasures: [] }),
  };
  const { sink } = new Courier(endings, new CopyingBox(endings, disk.folder), told);
  let cursor = await sink.readCursor();
  for (let chunk = 0; chunk < CHUNKS_A_RUN && cursor.seq < days.length; chunk++) {
    const piece = await feed.next(cursor.seq, CHUNK);
    cursor = await sink.send({ ...piece, after: cursor.seq, isLast: true }, cursor);
    answered.push({ seq: cursor.seq, at: disk.log.length() });
  }
}
const end = disk.log.length();
disk.stop();

const platter = new Platter(image, disk.log);
const chosen = Array.from({ length: Number(values.cuts) }, () =>
  random.chance(0.6) ? random.pick(answered).at : random.integer(0, end),
).sort((a, b) => a - b);
const seen = { lost: 0, wrong: 0, unfinished: 0, torn: 0, nameless: 0 };
for (const cut of chosen) {
  const file = workshop.file('cut');
  platter.cut(cut, random.pick(IN_FLIGHT), random, file);
  const { folder, unmount } = workshop.mount(file, 'after');
  const box = new CopyingBox(endings, folder);
  const courier = new Courier(endings, box, feed);
  const sizeOf = () =>
    fs
      .globSync('*/*.gz', { cwd: box.copy })
      .reduce((sum, name) => sum + fs.statSync(path.join(box.copy, name)).size, 0);
  const before = sizeOf();
  if (before > 0 && !isNamed(box)) seen.nameless++;
  const { seq } = await courier.sink.readCursor();
  if (sizeOf() < before) seen.torn++;
  if (seq < (answered.findLast(({ at }) => at <= cut)?.seq ?? 0)) seen.lost++;
  if (box.copied !== whole.slice(0, seq).join('')) seen.wrong++;
  await courier.run();
  if (box.copied !== whole.join('')) seen.unfinished++;
  unmount();
}
process.stdout.write(
  `${JSON.stringify({ cuts: chosen.length, ...seen, writes: end, acknowledged: answered.length })}\n`,
);
if (seen.lost + seen.wrong + seen.unfinished > 0) process.exitCode = 1;
workshop.end();

function isNamed(box: CopyingBox): boolean {
  try {
    return box.boxFile.box === 'venue-7';
  } catch {
    return false;
  }
}

import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { Random } from '../../src/vendor/simulate/random.ts';
import { CopyingBox, Courier } from '../fleet/ship/copied.ts';
import { days, ErasingBox, FIRST, LAST, lineOf } from '../fleet/ship/erasing.ts';
import { Endings } from '../harness/endings.ts';
import { Workshop } from '../harness/workshop.ts';
import { makeImage, RecordedDisk } from './disk.ts';
import { missingNeeds } from './needs.ts';
import { IN_FLIGHT, Platter } from './platter.ts';

/**
 * Power cuts while the copy on a stick is written anew after an erasure: `node test/powercut/copyErasure.ts [--cuts 100] [--seed 1]`.
 * Prints, as JSON:
 *
 * - `lost`: cuts after which an event was missing that the copy had, or that was acknowledged meanwhile.
 * - `early`: after which box.json had the erasure, and a file the player. `unfinished`: after which going on did not end with what the
 *   box has, or left something.
 * - `done`: after which box.json had the erasure.
 */

const [EVENTS, CHUNK, MORE, MEBIBYTES] = [400, 20, 12, 64];
/** About when box.json is written. */
const LAST_WRITES = 12;

const { values } = parseArgs({
  options: { cuts: { type: 'string', default: '100' }, seed: { type: 'string', default: '1' } },
});
const lacks = missingNeeds();
if (lacks !== undefined) throw new Error(lacks);
const random = new Random(Number(values.seed));
await using endings = new Endings();
const workshop = new Workshop('copy-erasure');
const live = makeImage(workshop, MEBIBYTES);
const log = new ErasingBox([...days(EVENTS, FIRST), ...days(EVENTS, LAST, EVENTS + 1)]);
{
  const { folder, unmount } = workshop.mount(live, 'original');
  await new Courier(endings, new CopyingBox(endings, folder), log.feed).run(CHUNK);
  unmount();
}
const image = workshop.file('before');
execFileSync('cp', ['--sparse=auto', live, image]);
const disk = await RecordedDisk.start(workshop, live);
log.erase();
/** What was acknowledged, and how many writes there had been by then. */
const answered: { readonly seq: number; readonly at: number }[] = [{ seq: log.lines.length, at: 0 }];
const { sink, feed } = new Courier(endings, new CopyingBox(endings, disk.folder), log.feed);
let cursor = await sink.readCursor();
for (let more = 0; more < MORE; more++) {
  log.lines = [...log.lines, lineOf(log.lines.length + 1, LAST).replace(/anna/gi, 'eva')];
  const piece = await feed.next(cursor.seq, 1);
  cursor = await sink.send({ ...piece, after: cursor.seq, isLast: true }, cursor);
  answered.push({ seq: cursor.seq, at: disk.log.length() });
}
await sink.finish();
const end = disk.log.length();
disk.stop();

const platter = new Platter(image, disk.log);
const cuts = Array.from({ length: Number(values.cuts) }, () =>
  random.chance(0.2) ? end : random.integer(random.chance(0.3) ? end - LAST_WRITES : 0, end),
).sort((a, b) => a - b);
const seen = { lost: 0, early: 0, unfinished: 0, done: 0 };
const seqsOf = (text: string) => (text.match(/"seq":\d+/g) ?? []).join();
for (const cut of cuts) {
  const file = workshop.file('cut');
  platter.cut(cut, random.pick(IN_FLIGHT), random, file);
  const { folder, unmount } = workshop.mount(file, 'after');
  const box = new CopyingBox(endings, folder);
  const isDone = box.boxFile.erasures.length > 0;
  if (isDone) seen.done++;
  if (isDone && isNamed(box.copied)) seen.early++;
  const courier = new Courier(endings, box, log.feed);
  const { seq } = await courier.sink.readCursor();
  const isShort = seq < answered.findLast(({ at }) => at <= cut)!.seq;
  if (isShort || seqsOf(box.copied) !== seqsOf(log.lines.slice(0, seq).join(''))) seen.lost++;
  await courier.run();
  await courier.sink.finish();
  const isLeft = fs.readdirSync(path.dirname(box.files[0]!)).some((name) => name.startsWith('.'));
  if (isLeft || isNamed(box.copied) || box.copied !== log.lines.join('')) seen.unfinished++;
  unmount();
}
process.stdout.write(`${JSON.stringify({ cuts: cuts.length, ...seen, writes: end })}\n`);
if (seen.lost + seen.early + seen.unfinished > 0) process.exitCode = 1;
workshop.end();

/** But for what she has played since. */
function isNamed(copied: string): boolean {
  return copied.split('\n').some((line) => /anna/i.test(line) && !line.includes('2030-01-01'));
}

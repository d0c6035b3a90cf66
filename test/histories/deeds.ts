import fs from 'node:fs';
import { Problem } from '../../src/protocol/errors.ts';
import { readEpochs } from '../../src/store/db/epochs.ts';
import { withDatabase } from '../../src/store/db/openDatabase.ts';
import { ForeignCopy } from '../../src/store/keep/follow.ts';
import { makeBackup } from '../../src/store/keep/makeBackup.ts';
import { restoreDatabase } from '../../src/store/keep/restoreDatabase.ts';
import { ArrivalLog, mayPass } from '../../src/store/read/arrivalLog.ts';
import { knownUpTo } from '../../src/store/read/shipLag.ts';
import type { Random } from '../../src/vendor/simulate/random.ts';
import type { Box } from './box.ts';
import { look } from './check.ts';
import { type Body, PLAYERS, sentOf } from './events.ts';
import type { PruneRule } from './known.ts';
import type { Before, Kind } from './plan.ts';
import { timeline } from './world.ts';

const DAY_MS = 86_400_000;
const ALL = 1_000;
const [EIO, EAGAIN, ENOSPC] = [5, 11, 28];

type Deed = (box: Box, random: Random, nowMs: number) => Promise<void>;

/** What each kind of operation does. A box that is over gives no answers any more. */
const DEEDS: Readonly<Record<Kind, Deed>> = {
  request: (box, random, nowMs) => send(box, box.cameras.fresh(random, nowMs)),
  resend: (box, random, nowMs) => send(box, box.cameras.again(random, nowMs)),
  revision: (box, random, nowMs) => send(box, box.cameras.revised(random, nowMs)),
  prune,
  erase,
  tail: read,
  backup,
  copy,
  clock: async (_box, random) => {
    timeline.offsetMs += random.pick([-DAY_MS, -3_600_000, 60_000, DAY_MS, 10 * DAY_MS]);
  },
  full: fill,
  failing: fail,
  busy: async (box, random) => box.disk.fail('lock', random.integer(1, 20), random.integer(1, 4), EAGAIN),
};

/** Does one. @throws the errors of a client or an operator, among others. */
export async function deed(box: Box, kind: Kind, random: Random): Promise<void> {
  return DEEDS[kind](box, random, timeline.wallMs());
}

/** What a command does while no daemon runs. */
export async function commandBefore(box: Box, command: Before, random: Random): Promise<void> {
  if (box.isLost) {
    await box.copy.rebuild(box.directory);
    if (box.isOver) return;
    box.isLost = false;
    box.note('rebuilt');
    return;
  }
  if (command === 'tail') {
    // All there is, also what a killed daemon has just written.
    await read(box, random, ALL);
  }
  if (command === 'restore') await restore(box, random);
}

/** What was restored or rebuilt starts before anybody restores again: the model has to see what it is. */
async function restore(box: Box, random: Random): Promise<void> {
  const { model } = box;
  const { ino } = fs.statSync(box.directory.file('database'));
  const isReplaced = model.restoring !== undefined && model.restoring.over !== ino;
  if (model.backups.length === 0 || model.rebuilding !== undefined || isReplaced) return;
  const chosen = random.pick(model.backups);
  model.restoring = { ...chosen, over: ino };
  await restoreDatabase(box.directory, chosen.file);
  if (!box.isOver) box.note('restored');
}

async function send(box: Box, { events, sent }: Body): Promise<void> {
  const { model } = box;
  const request = model.send(sent, timeline.wallMs());
  try {
    const counts = await box.store!.writer.append(events);
    if (box.disk.isDead) return;
    model.acknowledged(request, counts);
    box.note(`202 ${counts.accepted} ${counts.duplicates} ${counts.conflicts}`);
  } catch (error) {
    if (box.disk.isDead) return;
    if (!(error instanceof Problem)) throw error;
    // After a disk that failed, it is not known what is on it.
    if (!box.hasFailed) model.refused(request);
    box.note(`${error.status} ${error.code}`);
  }
}

/** As `courtd prune` asks for it: half of them keep what has not been copied. */
async function prune(box: Box, random: Random, nowMs: number): Promise<void> {
  const beforeMs = nowMs - random.pick([0, 0, 0, 5, 30, 300, 2000, DAY_MS]);
  const holdMs = random.pick([1000, 30 * DAY_MS]);
  const { known } = box.copy;
  const shipped = await withDatabase({ data: box.directory }, (db) =>
    knownUpTo(known?.epoch, known?.seq, readEpochs(db)),
  );
  const hold = random.chance(0.5) ? { hold: { afterSeq: shipped ?? 0, beforeMs: nowMs - holdMs } } : {};
  const rule: PruneRule = { nowMs, beforeMs, ...hold };
  if (box.isOver) return;
  look(box.directory, box.model);
  if (box.isOver) return;
  box.model.pruneBegins(rule);
  try {
    const { events, held } = await box.store!.prune(rule, () => {});
    box.note(`pruned ${events}, held ${held}`);
  } finally {
    if (!box.isOver) box.model.pruneEnded(rule);
  }
}

/** As `courtd player erase` asks for it. A prune and an erasure are not run at the same time: the second is refused. */
async function erase(box: Box, random: Random, nowMs: number): Promise<void> {
  const erasure = { player: random.pick(PLAYERS), nowMs, hasEnded: false };
  box.model.erasures.push(erasure);
  const { emptied, renamed } = await box.store!.erase(
    { player: erasure.player, beforeNs: undefined, nowMs },
    () => {},
  );
  if (box.disk.isDead) return;
  erasure.hasEnded = true;
  box.note(`erased: ${emptied} emptied, ${renamed} renamed`);
}

/** A reader in the order of arrival, as `courtd tail` is one. @param most events. */
async function read(box: Box, random: Random, most = random.integer(1, 10)): Promise<void> {
  const { model } = box;
  box.tail ??= new ArrivalLog(box.directory);
  try {
    const { events, upTo } = await box.tail.after(model.tailSeq, most);
    if (box.disk.isDead) return;
    for (const event of events) model.tailed(event, sentOf(event));
    model.tailSeq = Math.max(model.tailSeq, upTo);
  } catch (error) {
    if (!mayPass(error)) throw error;
  }
}

/** One at a time: two that end in the same second differ by their processes, and here is only one. */
async function backup(box: Box): Promise<void> {
  const { model } = box;
  if (box.isBackingUp) return;
  box.isBackingUp = true;
  const certain = model.certain();
  const { file } = await makeBackup(box.directory, box.backups, 100).finally(() => {
    box.isBackingUp = false;
  });
  if (box.disk.isDead) return;
  model.backedUp(file, certain);
  box.note('backed up');
}

/** One follower at a time: until the copy is current, or for some seconds. */
async function copy(box: Box, random: Random): Promise<void> {
  if (box.isCopying) return;
  box.isCopying = true;
  const time = new AbortController();
  setTimeout(() => time.abort(), random.integer(1, 20_000));
  const signal = AbortSignal.any([time.signal, box.ending.signal]);
  const error = await box.copy.follow(box.directory, random.chance(0.5), signal);
  box.isCopying = false;
  box.note(`copied up to ${box.copy.known?.seq}: ${error?.message}`);
  if (error instanceof ForeignCopy) box.model.violate('the copy is said to be of another box');
}

async function fill(box: Box, random: Random): Promise<void> {
  box.disk.leave(random.integer(0, 40_000));
  await new Promise<void>((resolve) => setTimeout(resolve, random.integer(1, 4000)));
  if (!box.isOver) box.disk.heal();
}

async function fail(box: Box, random: Random): Promise<void> {
  const call = random.pick(['write', 'sync', 'write', 'sync', 'open', 'name'] as const);
  const errno = call === 'write' ? random.pick([EIO, ENOSPC]) : EIO;
  const nth = random.pick([1, 1, 2, 3, 8, 30]);
  box.disk.fail(call, nth, random.integer(1, 3), errno, random.chance(0.5));
}

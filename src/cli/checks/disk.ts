import { constants, rmSync, statSync } from 'node:fs';
import fs, { type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { fail, ok, warn } from '../../base/finding.ts';
import { MIN_FREE_BYTES, RESERVE_BYTES } from '../../base/limits.ts';
import { databaseFile } from '../../store/directory/dataDirectory.ts';
import { previousDatabases } from '../../store/open/previousDatabases.ts';
import type { PruneSuggestion } from '../../store/read/pruneSuggestion.ts';
import { parseSize } from '../options/optionParsers.ts';
import { cleanUpOnExit } from '../terminal/signals.ts';
import { bytesFor } from '../terminal/units.ts';
import type { Box } from './box.ts';
import { type Check, type Fault, together } from './check.ts';

const SYNCS = 9;
/** A slow disk is measured with fewer. */
const SYNCS_MS = 3_000;
/** What a page of the log is written with. */
const WRITE_BYTES = 4_096;
/** Disks of a box take 0.1 to 15 ms, tired SD cards 40 and more. */
const SLOW_MS = 40;

export const disk: Check = {
  name: 'disk',
  look: async (box) => {
    const { bavail, bsize } = await fs.statfs(box.data);
    const free = bavail * bsize;
    const room = await aboutRoom(box, free);
    if (room?.level === 'fail') return room;
    const ms = await syncTime(box.data);
    const [time, rate] = [ms < 10 ? ms.toFixed(1) : ms.toFixed(0), Math.max(1, Math.round(1000 / ms))];
    const told = `this disk takes ${time} ms a sync: at most about ${rate} commits a second`;
    const speed =
      ms < SLOW_MS
        ? undefined
        : warn(
            `${told[0]!.toUpperCase()}${told.slice(1)}.`,
            'A worn SD card or a slow stick: cameras wait for it. Use an SSD, or have cameras send more events at once.',
          );
    return together([room, speed], ok(`${bytesFor(free)} free; ${told}.`));
  },
};

async function aboutRoom(box: Box, free: number): Promise<Fault> {
  const { data, settings } = box;
  if (free < RESERVE_BYTES) {
    return fail(`The disk of ${data} is full: ${bytesFor(free)} free.`, await adviceFor(box));
  }
  const floor = floorOf(settings.COURTD_MIN_FREE);
  if (free >= floor) return undefined;
  return warn(
    `Only ${bytesFor(free)} are free on the disk of ${data}, less than ${bytesFor(floor)} (COURTD_MIN_FREE).`,
    `${await adviceFor(box)} COURTD_KEEP and COURTD_KEEP_POSITIONS do it every night.`,
  );
}

async function adviceFor(box: Box): Promise<string> {
  // That it cannot be read is the database's to tell.
  const look = await box.database().catch(() => undefined);
  const size = statSync(databaseFile(box.data), { throwIfNoEntry: false })?.size ?? 0;
  return roomAdvice(look?.suggestion ?? undefined, size, previousDatabases(box.data).bytes);
}

/** Deleting less than that makes no room on a disk that is full. */
const ROOM_BYTES = 64 * 1024 ** 2;

/**
 * What to do about a full disk: what would free how much.
 * @param bytes of the database file. @param previousBytes of earlier databases beside it.
 */
export function roomAdvice(
  suggestion: PruneSuggestion | undefined,
  bytes: number,
  previousBytes: number,
): string {
  const advice: string[] = [];
  if (previousBytes >= ROOM_BYTES) {
    advice.push(
      `Earlier databases take ${bytesFor(previousBytes)}: remove courtd.db.replaced-* and courtd.db.layout-* in the data directory when you no longer need them.`,
    );
  }
  if (bytes < ROOM_BYTES) {
    const what = `The events take ${bytesFor(bytes)} only: something else fills the disk`;
    advice.push(`${what} ("sudo du -xh / | sort -h | tail" shows what).`);
  } else if (suggestion === undefined) {
    advice.push('All events are of the last hour: no prune makes room; a larger disk does.');
  } else {
    const { olderThan, positionBytes } = suggestion;
    const positions =
      positionBytes < suggestion.bytes / 10
        ? ''
        : `; "--type PLAYER_POSITION" besides, about ${bytesFor(positionBytes)}, and all else stays`;
    advice.push(
      `Make room: "sudo courtd prune --older-than ${olderThan}" frees about ${bytesFor(suggestion.bytes)}${positions}; --dry-run first.`,
    );
  }
  return advice.join(' ');
}

/** A wrong one is the configuration's to tell. */
function floorOf(setting: string | undefined): number {
  try {
    return setting === undefined ? MIN_FREE_BYTES : parseSize(setting);
  } catch {
    return MIN_FREE_BYTES;
  }
}

/** @returns the median time of an fsync, in milliseconds. */
async function syncTime(data: string): Promise<number> {
  const file = path.join(data, `.courtd-check.${process.pid}`);
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
  const handle = await fs.open(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o660);
  const calledOff = cleanUpOnExit(() => rmSync(file, { force: true }));
  try {
    return await medianSync(handle);
  } finally {
    calledOff();
    await handle.close();
    await fs.rm(file, { force: true });
  }
}

async function medianSync(handle: FileHandle): Promise<number> {
  const times: number[] = [];
  const until = performance.now() + SYNCS_MS;
  while (times.length < SYNCS && (times.length === 0 || performance.now() < until)) {
    await handle.write(Buffer.alloc(WRITE_BYTES, times.length));
    const startedAt = performance.now();
    await handle.datasync();
    times.push(performance.now() - startedAt);
  }
  return times.sort((a, b) => a - b)[Math.floor(times.length / 2)]!;
}

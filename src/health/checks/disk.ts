import { constants, rmSync, statSync } from 'node:fs';
import fs, { type FileHandle } from 'node:fs/promises';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { RESERVE_BYTES } from '../../base/limits.ts';
import { cleanUpOnExit } from '../../base/signals.ts';
import { bytesFor } from '../../base/units.ts';
import { minFreeOf } from '../../host/unitSettings.ts';
import { previousDatabases } from '../../store/open/previousDatabases.ts';
import { ok, type StatusProblem, warn } from '../finding.ts';
import { diskProblems } from '../problems.ts';
import type { Box } from './box.ts';
import { type Check, together } from './check.ts';

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
    const { bavail, bsize } = await fs.statfs(box.data.path);
    const free = bavail * bsize;
    const room = await aboutRoom(box, free);
    // What is left then is for events, and for a prune.
    if (free < RESERVE_BYTES) return together(room, ok(`${bytesFor(free)} free.`));
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
    return together([...room, speed], ok(`${bytesFor(free)} free; ${told}.`));
  },
};

/** As `status` finds it, but for the growth, which takes a longer look. */
async function aboutRoom(box: Box, free_bytes: number): Promise<StatusProblem[]> {
  const { data, settings } = box;
  // That it cannot be read is the database's to tell.
  const look = await box.database().catch(() => undefined);
  const sizeOf = (file: string) => statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  const file = data.file('database');
  const store = { free_bytes, wal_bytes: sizeOf(`${file}-wal`), days_left: null };
  const facts = {
    directory: data.path,
    store,
    minFreeBytes: minFreeOf(settings),
    room: {
      suggestion: look?.suggestion ?? undefined,
      bytes: sizeOf(file),
      previousBytes: previousDatabases(data).bytes,
    },
    hasPruneFailed: false,
  };
  return diskProblems(facts, await box.daemon());
}

/** @returns the median time of an fsync, in milliseconds. */
async function syncTime(data: DataDirectory): Promise<number> {
  const file = data.at(`.courtd-check.${process.pid}`);
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

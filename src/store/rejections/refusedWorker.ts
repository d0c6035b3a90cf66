import fs from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { unusedName } from '../../base/atomicFile.ts';
import { DataDirectory } from '../../base/dataDirectory.ts';
import { COMMAND_BUSY_MS, REFUSED_CHECK_MS, REFUSED_FREE_PART, REFUSED_MS } from '../../base/limits.ts';
import { freeMemory } from '../../base/ownMemory.ts';
import type { EventKey } from '../../protocol/bodyParts.ts';
import { failureKind } from '../sqlite/errors.ts';
import { RefusedBodies } from './refusedBodies.ts';
import type { RefusedBody, WaitingEvents } from './refusedBody.ts';
import { identityOf, RefusedIndex } from './refusedIndex.ts';
import type { KeepRequest, Lost, QueuedBody, RefusedSettings, WorkerMessage } from './refusedKeeper.ts';
import { StoredLookup } from './storedLookup.ts';

/** The worker thread of refusedKeeper.ts: it keeps refused bodies, and lets those go that are too old or in the way. */

const { bound, minFree, ...settings } = workerData as RefusedSettings;
const directory = new DataDirectory(settings.directory);
/** Bytes of bodies in one transaction. */
const COMMIT_BYTES = 1024 ** 2;
const TOKEN_REMOVED = '(token removed)';
const FAILURES: Partial<Record<ReturnType<typeof failureKind>, string>> = {
  full: 'the disk is full',
  damaged: 'refused.db was damaged, and was set aside',
  busy: 'another program has locked refused.db',
};
let refused: RefusedBodies | undefined;
let stored: StoredLookup | undefined;
let index = new RefusedIndex();
/** The seq up to which events have been looked through for those that wait here. */
let lookedUpTo: number | undefined;
let isLooking = false;
/** What has not been told yet. */
let untold: Omit<Lost, 'bodies'> = { events: 0 };

parentPort!.on('message', ({ bodies, isDiskFull }: KeepRequest) => {
  if (isDiskFull) discard();
  const lost = attempt<NotKept>(
    () => keep(bodies),
    (failure) => ({ bodies: bodies.length, failure }),
  );
  for (const { bytes } of bodies) freeMemory(bytes.buffer);
  tell(lost, true);
});
setInterval(lookAfter, REFUSED_CHECK_MS);
lookAfter();

type NotKept = Pick<Lost, 'bodies' | 'failure'>;

function lookAfter(): void {
  attempt(check, () => {});
  tell({ bodies: 0 }, false);
}

function tell(notKept: NotKept, isAnswer: boolean): void {
  countLetGo();
  parentPort!.postMessage({ ...untold, ...notKept, isAnswer, waiting: waitingNow() } satisfies WorkerMessage);
  untold = { events: 0 };
}

function countLetGo(events = 0): void {
  untold = { ...untold, events: untold.events + events + (refused?.letGo ?? 0) };
  if (refused !== undefined) refused.letGo = 0;
}

/** In transactions of which each is on disk soon. */
function keep(bodies: readonly QueuedBody[]): NotKept {
  if (bodies.length === 0) return { bodies: 0 };
  const all = open();
  all.count();
  if (makeRoom(all)) return { bodies: bodies.length, failure: 'the disk is nearly full' };
  let lost = 0;
  for (let next = 0; next < bodies.length; ) {
    all.atOnce(() => {
      for (let bytes = 0; next < bodies.length && bytes < COMMIT_BYTES; next++) {
        const body = bodies[next]!;
        bytes += body.bytes.length;
        if (!all.keep(withoutToken(body), index, isStored)) lost++;
      }
    });
  }
  return { bodies: lost };
}

function check(): void {
  if (refused === undefined && !fs.existsSync(directory.file('refused'))) return;
  const all = open();
  const nowMs = Date.now();
  const old = all.older({ beforeMs: nowMs - REFUSED_MS, nowMs });
  if (old.length > 0) all.remove(old);
  all.atOnce(() => all.shrink());
  makeRoom(all);
  if (!isLooking) void tickOffArrived(all);
}

/** Ticks off what has been stored since it was refused, a step a turn: requests are answered in between. */
async function tickOffArrived(all: RefusedBodies): Promise<void> {
  isLooking = true;
  try {
    const events = storedLookup();
    lookedUpTo ??= events.flushedUpTo;
    for (const arrived of events.arrivals(lookedUpTo)) {
      all.tickOffStored(arrived.flatMap((key) => index.events.get(identityOf(key)) ?? []));
      lookedUpTo = arrived.at(-1)!.seq;
      await setImmediate();
      if (refused !== all) break;
    }
  } catch {
    // The next request meets what is wrong with the file; what is wrong with the database is not told here.
    stored = undefined;
  }
  isLooking = false;
}

/** False where the database cannot be read. */
function isStored(key: EventKey): boolean {
  try {
    return storedLookup().has(key);
  } catch {
    stored = undefined;
    return false;
  }
}

/** Where the disk is low, they go before any event is refused. @returns whether it is. */
function makeRoom(all: RefusedBodies): boolean {
  const { bavail, blocks, bsize } = fs.statfsSync(directory.path);
  const missing = Math.min(minFree, blocks * bsize * REFUSED_FREE_PART) - bavail * bsize;
  if (missing <= 0) return false;
  all.atOnce(() => all.shrink(all.usedBytes - missing));
  all.giveBack();
  return true;
}

/** Runs `work`, and gives up what is kept in a file that cannot be written or read. */
function attempt<Result>(work: () => Result, failed: (failure: string) => Result): Result {
  try {
    return work();
  } catch (error) {
    const kind = failureKind(error);
    if (kind === 'full') discard();
    else if (kind === 'damaged') setAside();
    else forget();
    return failed(FAILURES[kind] ?? (error as Error).message);
  }
}

/** Removes the files: to delete rows takes room that a full disk does not have. */
function discard(): void {
  countLetGo(waitingNow().reduce((sum, { events }) => sum + events, 0));
  forget();
  for (const name of ['refusedWal', 'refusedShm', 'refused'] as const)
    fs.rmSync(directory.file(name), { force: true });
}

/** None if that cannot be read any more. */
function waitingNow(): readonly WaitingEvents[] {
  try {
    return refused?.waiting() ?? [];
  } catch {
    return [];
  }
}

/** For whoever wants to salvage what is in it; only the newest, so that a disk that goes bad does not fill with them. */
function setAside(): void {
  forget();
  for (const older of directory.damagedRefused()) fs.rmSync(older, { force: true });
  const aside = unusedName((time) => `${directory.file('refused')}.damaged-${time}`);
  if (fs.existsSync(directory.file('refusedWal')))
    fs.renameSync(directory.file('refusedWal'), `${aside}-wal`);
  fs.rmSync(directory.file('refusedShm'), { force: true });
  fs.renameSync(directory.file('refused'), aside);
  untold = { ...untold, setAside: aside };
}

function forget(): void {
  countLetGo();
  refused?.giveUp();
  refused = undefined;
}

function open(): RefusedBodies {
  if (refused !== undefined) return refused;
  // SQLite would take an empty file for a new one.
  if (fs.statSync(directory.file('refused'), { throwIfNoEntry: false })?.size === 0) setAside();
  refused = new RefusedBodies(directory, bound);
  index = new RefusedIndex();
  refused.fill(index);
  return refused;
}

function storedLookup(): StoredLookup {
  stored ??= new StoredLookup(
    new Database(directory.file('database'), { readonly: true, timeout: COMMAND_BUSY_MS }),
  );
  return stored;
}

function withoutToken({ token, ...body }: QueuedBody): RefusedBody {
  // From the other thread it comes as a plain Uint8Array.
  const bytes = Buffer.from(body.bytes.buffer);
  if (token === undefined || !bytes.includes(token)) return { ...body, bytes };
  const text = bytes.toString('latin1').replaceAll(token, TOKEN_REMOVED);
  return { ...body, bytes: Buffer.from(text, 'latin1') };
}

import fs from 'node:fs';
import path from 'node:path';

/**
 * In a directory of somebody else's, root is its owner. A link that he, or a member of his group, has put there leads root
 * no further than it leads him, and what root makes there is his.
 */

interface User {
  readonly uid: number;
  readonly gid: number;
}

const ROOT: User = { uid: 0, gid: 0 };
let wasRoot = false;

/** Whether this is root as somebody else. */
export function isActing(): boolean {
  return wasRoot && process.geteuid?.() !== ROOT.uid;
}

/** Root becomes the owner of a directory, for good. Of one that is not there: of the nearest one above it that is. */
export function becomeOwner(directory: string): void {
  if (!isRoot()) return;
  const owner = asCaller(() => statNearest(directory));
  if (owner.uid === ROOT.uid) return;
  actAs(ROOT);
  wasRoot = true;
  process.setgroups!([owner.gid]);
  process.setgid!(owner.gid);
  process.setuid!(owner.uid);
}

/**
 * The same, for a while: by its effective ids alone.
 * @returns what makes it again who it was before.
 */
export function actAsOwner(directory: string): () => void {
  if (!isRoot()) return () => {};
  const before = { uid: process.geteuid!(), gid: process.getegid!() };
  actAs(asCaller(() => statNearest(directory)));
  return () => actAs(before);
}

/**
 * As `actAsOwner`, for a directory that is only written to. Where others may write to one of root's, it stays who it is: as
 * root it could be led astray there.
 */
export function actAsWriter(directory: string): () => void {
  const isShared = isRoot() && isSharedByRoot(asCaller(() => statNearest(directory)));
  return isShared ? () => {} : actAsOwner(directory);
}

/** Root is root for as long as `work` takes: for a file that the command line names. */
export function asCaller<Result>(work: () => Result): Result {
  if (!isRoot()) return work();
  const before = { uid: process.geteuid!(), gid: process.getegid!() };
  actAs(ROOT);
  try {
    return work();
  } finally {
    actAs(before);
  }
}

/** Whether it is root's, and others may put something into it. */
export function isSharedByRoot({ uid, gid, mode }: fs.Stats): boolean {
  const isGroups = gid !== ROOT.gid && (mode & fs.constants.S_IWGRP) !== 0;
  return uid === ROOT.uid && (isGroups || (mode & fs.constants.S_IWOTH) !== 0);
}

function isRoot(): boolean {
  return process.getuid?.() === ROOT.uid;
}

/** In all threads of the process. */
function actAs({ uid, gid }: User): void {
  if (process.geteuid!() === uid && process.getegid!() === gid) return;
  wasRoot = true;
  process.seteuid!(ROOT.uid);
  process.setgroups!([gid]);
  process.setegid!(gid);
  process.seteuid!(uid);
}

function statNearest(directory: string): fs.Stats {
  const stat = fs.statSync(directory, { throwIfNoEntry: false });
  const above = path.dirname(path.resolve(directory));
  return stat ?? statNearest(above);
}

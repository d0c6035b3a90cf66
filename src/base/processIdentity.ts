import fs from 'node:fs';
import path from 'node:path';

/**
 * Dropping privileges: in a directory that belongs to another user, root works as that user. A symbolic link placed there leads
 * root no further than its owner could go, and files that root creates belong to the owner.
 */

interface User {
  readonly uid: number;
  readonly gid: number;
}

const ROOT: User = { uid: 0, gid: 0 };
let hasDropped = false;

/** Whether root is working as another user. */
export function isActing(): boolean {
  return hasDropped && process.geteuid?.() !== ROOT.uid;
}

/** Turns root into the owner of a directory, or of its nearest existing parent, for the life of the process. */
export function becomeOwner(directory: string): void {
  if (!isRoot()) return;
  const owner = asCaller(() => statNearestExisting(directory));
  if (owner.uid === ROOT.uid) return;
  actAs(ROOT);
  hasDropped = true;
  process.setgroups!([owner.gid]);
  process.setgid!(owner.gid);
  process.setuid!(owner.uid);
}

/**
 * Turns root into the owner of a directory, by its effective ids only.
 * @returns restores the ids that it had before.
 */
export function actAsOwner(directory: string): () => void {
  if (!isRoot()) return () => {};
  const before = { uid: process.geteuid!(), gid: process.getegid!() };
  actAs(asCaller(() => statNearestExisting(directory)));
  return () => actAs(before);
}

/**
 * As `actAsOwner`, for a directory that is only written to. In a directory of root's that others may write to, the process keeps
 * its identity: root could be led astray there by a symbolic link.
 */
export function actAsWriter(directory: string): () => void {
  const isShared = isRoot() && isSharedByRoot(asCaller(() => statNearestExisting(directory)));
  return isShared ? () => {} : actAsOwner(directory);
}

/** Runs `work` as the owner of a directory, where the process runs as root. */
export function asOwner<Result>(directory: string, work: () => Result): Result {
  const restore = actAsOwner(directory);
  try {
    return work();
  } finally {
    restore();
  }
}

/** Runs `work` as root again, where the process was started by root: for a file that the command line names. */
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

/** Whether a directory belongs to root, and others may create files in it. */
export function isSharedByRoot({ uid, gid, mode }: fs.Stats): boolean {
  const isGroupWritable = gid !== ROOT.gid && (mode & fs.constants.S_IWGRP) !== 0;
  return uid === ROOT.uid && (isGroupWritable || (mode & fs.constants.S_IWOTH) !== 0);
}

function isRoot(): boolean {
  return process.getuid?.() === ROOT.uid;
}

/** Sets the effective ids of all threads of the process. */
function actAs({ uid, gid }: User): void {
  if (process.geteuid!() === uid && process.getegid!() === gid) return;
  hasDropped = true;
  process.seteuid!(ROOT.uid);
  process.setgroups!([gid]);
  process.setegid!(gid);
  process.seteuid!(uid);
}

function statNearestExisting(directory: string): fs.Stats {
  const stat = fs.statSync(directory, { throwIfNoEntry: false });
  const above = path.dirname(path.resolve(directory));
  return stat ?? statNearestExisting(above);
}

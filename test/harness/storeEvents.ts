import type { GroupCommitEvents } from '../../src/store/write/groupCommit.ts';

const ignore = () => {};
const fail = (error: unknown) => {
  throw error;
};

/** For a store without a log: what fails for good is for the caller to handle. */
export const UNLOGGED = {
  full: ignore,
  healed: ignore,
  damaged: ignore,
  unexpected: ignore,
} satisfies Partial<GroupCommitEvents>;

/** For a store that no daemon watches: every failure is thrown. */
export const UNWATCHED: GroupCommitEvents = {
  ...UNLOGGED,
  full: fail,
  damaged: fail,
  unexpected: fail,
  fatal: fail,
};

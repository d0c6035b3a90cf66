import type { StoreEvents } from '../../src/store/store.ts';

const fail = (error: unknown) => {
  throw error;
};
const ignore = () => {};

/** For a store without a daemon: a failure ends the bench, and nothing else matters to it. */
export const UNWATCHED: StoreEvents = {
  full: fail,
  healed: ignore,
  damaged: fail,
  unexpected: fail,
  fatal: fail,
  walLarge: ignore,
  walSmall: ignore,
  upgrading: ignore,
};

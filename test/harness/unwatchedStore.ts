import type { StoreEvents } from '../../src/store/store.ts';

const fail = (error: unknown) => {
  throw error;
};
const ignore = () => {};

/** For a store that no daemon watches: what fails is thrown, and the rest is nobody's concern. */
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

import { type StoreEvents, UNLOGGED } from '../../src/store/store.ts';

const fail = (error: unknown) => {
  throw error;
};

/** For a store that no daemon watches: what fails is thrown, and the rest is nobody's concern. */
export const UNWATCHED: StoreEvents = {
  ...UNLOGGED,
  full: fail,
  damaged: fail,
  unexpected: fail,
  fatal: fail,
};

import { timerPromises } from '../world.ts';

/** In the place of node:timers/promises. */
export const { setTimeout, setImmediate } = timerPromises;

import * as sizes from '../../../src/store/db/sizes.ts';

/** In the place of src/store/db/sizes.ts: a history has checkpoints, and prunes and copies of many steps. */

export const GROUP_EVENTS = 12;
export const COUNTER_PAUSE = { ms: 10, events: 5 };
export const KEY_LIMITS = { move: 10, most: 1_000, step: 6 };
export const CHECKPOINT_FRAMES = 20;
export const SERVING_STEP = { ...sizes.SERVING_STEP, rows: 3 };
export const ALONE_STEP = { ...sizes.ALONE_STEP, rows: 5 };
export const LOOK_ROWS = 20;
export const STEP_KEYS = 3;
export const COPY_EVENTS = 5;

/** How much of its own work the store does at a time. The histories of `test` run with smaller sizes, in place of this module. */

/** Events in one commit: bounds how long the requests of a group wait for each other (../../ARCHITECTURE.md#group-commit). */
export const GROUP_EVENTS = 4_000;

/** Between two writes of the counters of sessions, at least: readers count what came since (the view `session_total`). */
export const COUNTER_PAUSE = { ms: 1_000, events: 1_000 } as const;

/**
 * Keys in memory: at which a move to the file begins, at which events are answered 503 because moves fail, and that one step moves. In
 * a large file each has a page of its own.
 */
export const KEY_LIMITS = { move: 50_000, most: 1_000_000, step: 400 };

/** Frames (pages) in the WAL at which a checkpoint is due: fewer bytes than the reserve, which must take them on a full disk. */
export const CHECKPOINT_FRAMES = 2_000;

/** Rows that a transaction of a prune changes, and the pause after it: while requests come, and while none do. */
export const SERVING_STEP = { rows: 50, pauseMs: 25 } as const;
export const ALONE_STEP = { rows: 1_000, pauseMs: 1 } as const;
/** Events of which one query of a prune finds the first young one: half a millisecond. */
export const LOOK_ROWS = 1_000;
/** Keys of a session that a step of a prune passes: with fewer it would never end while cameras add keys as fast. */
export const STEP_KEYS = 1_000;

/** Events that one transaction of a copy takes: the readers of the box and of the copy stay short. */
export const COPY_EVENTS = 2_000;

/** In the place of src/base/limits.ts: bounds that a history of thirty requests reaches. */

export * from '../../../src/base/limits.ts';
export const RESERVE_BYTES = 64 * 1024;
export const CONFLICT_COPIES = 5;
export const READ_CHUNK_ROWS = 7;
export const NAMES_CACHED = 4;

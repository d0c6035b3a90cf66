import * as chunk from '../../../src/fleet/log/chunk.ts';

/** In the place of src/fleet/log/chunk.ts: a history ships several chunks. */

export * from '../../../src/fleet/log/chunk.ts';
export const CHUNK_LIMITS = { ...chunk.CHUNK_LIMITS, events: 9 };

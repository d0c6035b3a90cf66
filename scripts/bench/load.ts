/** A kind of load. */
export interface Load {
  readonly title: string;
  readonly connections: number;
  /** In each request. */
  readonly events: number;
}

export const SINGLES: Load = { title: '64 connections x 1', connections: 64, events: 1 };
export const BATCHES: Load = { title: '8 connections x 500', connections: 8, events: 500 };
export const ALONE: Load = { title: '1 connection x 1', connections: 1, events: 1 };
export const SMALL_BATCHES: Load = { title: '16 connections x 20', connections: 16, events: 20 };
export const LOADS: readonly Load[] = [SINGLES, BATCHES, ALONE];

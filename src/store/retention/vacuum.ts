import type { Database } from 'better-sqlite3';
import { type PacedSteps, STEP_MS } from './pacedSteps.ts';

/**
 * Bounds of the pages that one step returns to the file system; in between, as many as take STEP_MS.
 */
const VACUUM_PAGES = { least: 8, most: 512 } as const;

/**
 * Returns free pages to the file system, as steps of the writer. The file itself shrinks at the checkpoint, which is the last of them.
 * @param told is called with the bytes so far.
 */
export async function vacuum(db: Database, steps: PacedSteps, told: (bytes: number) => void): Promise<void> {
  const number = (name: string) => db.pragma(name, { simple: true }) as number;
  let [size, bytes] = [VACUUM_PAGES.least as number, 0];
  for (let isLeft = number('freelist_count') > 0; isLeft; ) {
    let pages = 0;
    const tookMs = await steps.run(() => {
      const before = number('page_count');
      // Not `simple`: the pragma returns a row a page and would stop after the first.
      db.pragma(`incremental_vacuum(${size})`);
      pages = before - number('page_count');
      isLeft = pages > 0 && number('freelist_count') > 0;
    });
    bytes += pages * number('page_size');
    size = Math.round(tookMs > STEP_MS ? size / 2 : size * 1.25);
    size = Math.min(Math.max(size, VACUUM_PAGES.least), VACUUM_PAGES.most);
    told(bytes);
  }
  await steps.checkpoint();
}

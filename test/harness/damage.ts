import fs from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';

const PAGE_BYTES = 4096;

/** Overwrites pages of a table or an index, with or without a daemon. @param where of all its leaves, in their order. */
export function damagePages(data: string, name: string, where: (leaves: number[]) => number[]): void {
  const file = path.join(data, 'courtd.db');
  const db = new Database(file, { readonly: true });
  const leaves = db
    .prepare<[string], number>("SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path")
    .pluck()
    .all(name);
  db.close();
  const fd = fs.openSync(file, 'r+');
  for (const page of where(leaves))
    fs.writeSync(fd, Buffer.alloc(PAGE_BYTES, 0xa5), 0, PAGE_BYTES, (page - 1) * PAGE_BYTES);
  fs.closeSync(fd);
}

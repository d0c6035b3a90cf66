import fs from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import { PAGE_BYTES } from '../../src/store/db/schema.ts';

/** @returns the leaf pages of a table or an index, in their order. */
export function leavesOf(data: string, name: string): number[] {
  const db = new Database(path.join(data, 'courtd.db'), { readonly: true });
  const leaves = db
    .prepare<[string], number>("SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path")
    .pluck()
    .all(name);
  db.close();
  return leaves;
}

/** Overwrites pages of a table or an index, with or without a daemon. @param where of all its leaves, in their order. */
export function damagePages(data: string, name: string, where: (leaves: number[]) => number[]): void {
  const leaves = leavesOf(data, name);
  const fd = fs.openSync(path.join(data, 'courtd.db'), 'r+');
  for (const page of where(leaves))
    fs.writeSync(fd, Buffer.alloc(PAGE_BYTES, 0xa5), 0, PAGE_BYTES, (page - 1) * PAGE_BYTES);
  fs.closeSync(fd);
}

/** Makes the page above the events lead to earlier ones once more, and to the last never. @param to the first page of events, or the last but one. */
export function leadBack(data: string, to: 'first' | 'last but one'): void {
  const file = path.join(data, 'courtd.db');
  const db = new Database(file, { readonly: true });
  const root = db
    .prepare<[], number>("SELECT rootpage FROM sqlite_schema WHERE name = 'event'")
    .pluck()
    .get()!;
  db.close();
  const bytes = fs.readFileSync(file);
  const page = bytes.subarray((root - 1) * PAGE_BYTES, root * PAGE_BYTES);
  if (page[0] !== 5) throw new Error('not an interior page (SQLite file format, section 1.6)');
  const cell = to === 'first' ? 0 : page.readUInt16BE(3) - 1;
  // The pointer behind the last cell becomes that of a cell.
  const at = page.readUInt16BE(12 + 2 * cell);
  page.copy(page, 8, at, at + 4);
  fs.writeFileSync(file, bytes);
}

/** Puts a text of the same length in the place of another, in all pages of a table or an index, with or without a daemon. */
export function changeText(data: string, name: string, from: string, to: string): void {
  const leaves = leavesOf(data, name);
  const fd = fs.openSync(path.join(data, 'courtd.db'), 'r+');
  for (const number of leaves) {
    const page = Buffer.alloc(PAGE_BYTES);
    fs.readSync(fd, page, 0, PAGE_BYTES, (number - 1) * PAGE_BYTES);
    for (let at = page.indexOf(from); at >= 0; at = page.indexOf(from, at + 1)) page.write(to, at);
    fs.writeSync(fd, page, 0, PAGE_BYTES, (number - 1) * PAGE_BYTES);
  }
  fs.closeSync(fd);
}

import { once } from 'node:events';
import fs from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { DataDirectory } from '../../base/dataDirectory.ts';
import { becomeOwner } from '../../base/processIdentity.ts';
import { isAboutElse, isTelling } from '../../protocol/playerRedaction.ts';
import { previousFiles } from '../open/previousDatabases.ts';
import type { RemainingPage, Remains, RemainsRequest } from './findRemains.ts';

/** The process of findRemains.ts. Terms and numbers are those of SQLite's "Database File Format", 1.6. */

const PIECE_BYTES = 4 * 1024 ** 2;
const COLON = 0x3a;
/** Where the size of a page stands in the file; 1 is 65,536. */
const PAGE_SIZE_AT = 16;
const FILE_HEADER_BYTES = 100;
const TREE_PAGES = { interiorIndex: 2, interiorTable: 5, leafIndex: 10, leafTable: 13 } as const;
/** Of a page, by its type: the header before the array of cell pointers. */
const HEADER_BYTES = { interior: 12, leaf: 8 } as const;

/** @returns a text as JSON writes it: by this program, and by encoders that escape what is not ASCII (Python's, Java's), or a slash (PHP's). */
function asJson(text: string): string[] {
  const json = JSON.stringify(text);
  const escaped = json.replace(
    /[\x7f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  const upper = escaped.replace(/(?<=\\u)[\da-f]{4}/g, (hex) => hex.toUpperCase());
  const all = [json, escaped, upper];
  return [...all, ...all.map((one) => one.replaceAll('/', '\\/'))];
}

/** @returns how a text may stand in a file: as it is, and as JSON writes it; one that means nothing by itself, only as a value. */
function spellings(needle: string): Buffer[] {
  const json = asJson(needle);
  const values = [':', ': ', '[', ','].flatMap((before) => json.map((one) => before + one));
  const numbered = [',', '}'].map((after) => `"player_id":${needle}${after}`);
  const texts = isTelling(needle)
    ? [needle, ...json.map((one) => one.slice(1, -1))]
    : [...values, ...numbered];
  return [...new Set(texts)].map((text) => Buffer.from(text));
}

const FIELD_CHARS = 32;

/** Whether a value stands there that an erasure leaves: of a field that is about something else. Ids that mean nothing else begin with no colon. */
function staysAt(bytes: Buffer, at: number): boolean {
  if (bytes[at] !== COLON) return false;
  const [, field] = /"(\w+)"\s*$/.exec(bytes.toString('latin1', Math.max(0, at - FIELD_CHARS), at)) ?? [];
  return field !== undefined && isAboutElse(field);
}

/** @returns the parts of a page of a tree that hold nothing: before the cells, and freeblocks between them. */
function* freeSpace(page: Buffer, at: number): Generator<Buffer> {
  const isLeaf = page[at]! >= TREE_PAGES.leafIndex;
  const cells = page.readUInt16BE(at + 3);
  const content = page.readUInt16BE(at + 5) || 65_536;
  yield page.subarray(at + (isLeaf ? HEADER_BYTES.leaf : HEADER_BYTES.interior) + 2 * cells, content);
  // Each is behind the one before: a loop in a damaged page ends.
  for (let block = page.readUInt16BE(at + 1), before = 0; block > before && block + 4 <= page.length; ) {
    yield page.subarray(block + 4, block + page.readUInt16BE(block + 2));
    [before, block] = [block, page.readUInt16BE(block)];
  }
}

/** @returns the rowid of a cell of a leaf page of a table: behind the size of its row. */
function rowidAt(page: Buffer, cell: number): number {
  let at = cell;
  while (page[at]! >= 0x80) at++;
  let rowid = 0;
  do rowid = rowid * 128 + (page[++at]! & 0x7f);
  while (page[at]! >= 0x80);
  return rowid;
}

class Finder {
  readonly #needles: readonly Buffer[];
  readonly pages: RemainingPage[] = [];

  constructor(needles: readonly string[]) {
    this.#needles = needles.flatMap(spellings);
  }

  isIn(bytes: Buffer): boolean {
    return this.#needles.some((needle) => {
      let at = bytes.indexOf(needle);
      while (at >= 0 && staysAt(bytes, at)) at = bytes.indexOf(needle, at + 1);
      return at >= 0;
    });
  }

  look(page: Buffer, number: number): void {
    const at = number === 1 ? FILE_HEADER_BYTES : 0;
    const type = page[at]!;
    if (!Object.values(TREE_PAGES).some((known) => known === type)) return;
    const parts = [...freeSpace(page, at)];
    if (!parts.some((part) => this.isIn(part))) return;
    const free = parts.reduce((sum, { length }) => sum + length, 0);
    const rows = type === TREE_PAGES.leafTable ? page.readUInt16BE(at + 3) : 0;
    const rowid = (cell: number) => rowidAt(page, page.readUInt16BE(at + HEADER_BYTES.leaf + 2 * cell));
    const [first, last] = rows === 0 ? [0, 0] : [rowid(0), rowid(rows - 1)];
    this.pages.push({ page: number, first, last, rows, free });
  }
}

/** Beside ingest: reads for half of the time. */
async function* piecesOf(file: string, step: number): AsyncGenerator<Buffer> {
  const handle = await fs.promises.open(file);
  try {
    const piece = Buffer.alloc(step);
    for (let at = 0; ; at += step) {
      const startedAt = performance.now();
      const { bytesRead } = await handle.read(piece, 0, step, at);
      if (bytesRead === 0) return;
      yield piece.subarray(0, bytesRead);
      await sleep(performance.now() - startedAt);
    }
  } finally {
    await handle.close();
  }
}

async function find({ directory: name, needles }: RemainsRequest): Promise<Remains> {
  const directory = new DataDirectory(name);
  becomeOwner(name);
  const finder = new Finder(needles);
  const database = directory.file('database');
  let [size, pages] = [0, 0];
  for await (const piece of piecesOf(database, PIECE_BYTES)) {
    // Most pieces have nothing, and are not parsed.
    if (pages === 0)
      size = piece.readUInt16BE(PAGE_SIZE_AT) === 1 ? 65_536 : piece.readUInt16BE(PAGE_SIZE_AT);
    if (finder.isIn(piece)) {
      for (let at = 0; at + size <= piece.length; at += size)
        finder.look(piece.subarray(at, at + size), pages + at / size + 1);
    }
    pages += piece.length / size;
  }
  // The write-ahead log was empty just now: what is in it came afterwards. Among the random bytes of the reserve is any short id.
  const known = new Set([
    database,
    ...(['shm', 'wal', 'reserve'] as const).map((own) => directory.file(own)),
  ]);
  // Databases of before are told of by name, with the day on which they go.
  for (const { name } of previousFiles(directory)) known.add(directory.at(name));
  const files: string[] = [];
  for (const entry of fs.readdirSync(name, { withFileTypes: true })) {
    const file = directory.at(entry.name);
    if (!entry.isFile() || known.has(file)) continue;
    for await (const piece of piecesOf(file, PIECE_BYTES)) {
      if (!finder.isIn(piece)) continue;
      files.push(entry.name);
      break;
    }
  }
  return { pages: finder.pages, files };
}

// The caller is gone.
process.once('disconnect', () => process.exit(1));
const [request] = (await once(process, 'message')) as [RemainsRequest];
const remains = await find(request);
process.send?.(remains, () => process.exit(0));

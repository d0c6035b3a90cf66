import fs from 'node:fs';
import path from 'node:path';

export const ROOT = path.resolve(import.meta.dirname, '../..');
export const README = 'README.md';
export const VENDOR_GUIDE = 'src/http/README.md';
export const OPERATOR_GUIDE = 'systemd/README.md';
export const ARCHITECTURE = 'src/ARCHITECTURE.md';

/** Every document of the repository, by its path from the root. */
export const DOCUMENTS: readonly string[] = [
  README,
  'CHANGELOG.md',
  'SECURITY.md',
  ...['.github', 'src', 'systemd', 'test', 'scripts'].flatMap((folder) =>
    fs
      .readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      // The benchmark installs packages of its own.
      .filter((name) => name.endsWith('.md') && !name.includes('node_modules/'))
      .map((name) => path.join(folder, name)),
  ),
];

export function textOf(document: string): string {
  return fs.readFileSync(path.join(ROOT, document), 'utf8');
}

/** @returns every fenced code block of a language, in order. */
export function blocks(document: string, language: string): string[] {
  const fenced = new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, 'gms');
  return [...textOf(document).matchAll(fenced)].map(([, code]) => code!);
}

/** @returns the first of them. */
export function block(document: string, language: string): string {
  const [first] = blocks(document, language);
  if (first === undefined) throw new Error(`${document} has no ${language}`);
  return first;
}

/** @returns the cells of every row of the first table below a heading, without the table's own. */
export function tableBelow(document: string, heading: string): string[][] {
  const text = textOf(document);
  const start = text.indexOf(`\n${heading}\n`);
  if (start < 0) throw new Error(`${document} has no heading "${heading}"`);
  const table = /\n\|[^\n]*\n\|[ |-]*\n((?:\|[^\n]*\n)+)/.exec(text.slice(start))?.[1] ?? '';
  const rows = table.split('\n').filter(Boolean);
  return rows.map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

/** @returns the document without fenced and indented code: what is prose, tables and headings. */
export function proseOf(document: string): string {
  return textOf(document)
    .replace(/^```.*?^```$/gms, '')
    .replace(/^ {4}.*$/gm, '');
}

/** @returns the names by which GitHub links to a document's headings. */
export function anchorsOf(document: string): string[] {
  const headings = proseOf(document).matchAll(/^#{1,6} (.+)$/gm);
  const seen = new Map<string, number>();
  return [...headings].map(([, heading]) => {
    const name = heading!
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\- _]/gu, '')
      .replaceAll(' ', '-');
    const times = seen.get(name) ?? 0;
    seen.set(name, times + 1);
    return times === 0 ? name : `${name}-${times}`;
  });
}

/** @returns the JSON of an answer as a value, without what differs from request to request. */
export function answerShown(json: string): unknown {
  const value = JSON.parse(json);
  return 'request_id' in value ? { ...value, request_id: '' } : value;
}

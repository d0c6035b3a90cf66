import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { ARCHITECTURE, tableBelow } from './harness/documents.ts';

const ROOT = path.resolve(import.meta.dirname, '..');

const files = fs
  .readdirSync(path.join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'));

/** The layer of each folder, as the architecture has it; biome.json holds the imports to it. */
const LAYER_OF = new Map(
  tableBelow(ARCHITECTURE, '## Layers').map(([layer, folder]) => [folder!.replaceAll('`', ''), layer!]),
);
const LAYERS = ['base', 'protocol', 'store', 'box', 'features', 'cli'];
const LINES_MAX = 400;

/** The folder of src/ that a file is in; empty for src/main.ts. */
function folderOf(file: string): string {
  const folder = path.dirname(file);
  return folder === '.' ? '' : folder;
}

const textOf = (file: string) => fs.readFileSync(path.join(ROOT, 'src', file), 'utf8');

/** @returns the files that load a module at their start, and not its types alone. */
function loadersOf(module: string): string[] {
  const loads = new RegExp(`^(?:import|export) (?!type\\b)(?:[^;'=]* from )?'${module}`, 'm');
  return files.filter((file) => loads.test(textOf(file)));
}

t.test('every folder of src/ has its layer in the architecture, and none there is missing', (t) => {
  const folders = new Set(files.map(folderOf));
  t.strictSame([...folders].sort(), ['', ...LAYER_OF.keys()].sort());
  t.strictSame([...new Set(LAYER_OF.values())], LAYERS);
  t.end();
});

t.test('only the store loads SQLite, only the fleet NATS, and nothing node:http, which loads undici', (t) => {
  const strangers = (module: string, owner: RegExp) => loadersOf(module).filter((file) => !owner.test(file));
  t.not(loadersOf('better-sqlite3').length, 0);
  t.strictSame(strangers('(?:better-sqlite3|node:sqlite)', /^store\//), []);
  t.strictSame(strangers('@nats-io/', /^fleet\//), []);
  t.strictSame(loadersOf('node:http\\b'), []);
  t.end();
});

/** What is private to Node by its looks; of the parser's codes one is documented. */
const PRIVATE_LOOKS =
  /[.{] ?_(?!tcp\b)[a-z]\w*|\boverride \w+(?=\()|\.prototype\.\w+(?=\.call)|\bHPE_(?!HEADER_OVERFLOW\b)/g;

t.test('each private part of Node is in one list, with its users and the test that finds a change', (t) => {
  const codeOf = (file: string) => textOf(file).replaceAll(/^ *(?:\/\*\*|\*|\/\/).*$/gm, '');
  const rows = tableBelow(ARCHITECTURE, '### What is private to Node');
  const linked = (cell: string) => [...cell.matchAll(/\]\(([^)#]+\.ts)\)/g)].map(([, link]) => link!);
  const listed = rows.map(([name, where, , tests]) => {
    const used = linked(where!).map((link) => path.join(path.dirname(ARCHITECTURE), link));
    const text = name!.replaceAll('`', '');
    const users = files.filter((file) => codeOf(file).includes(text)).map((file) => path.join('src', file));
    t.strictSame(used.toSorted(), users.toSorted(), text);
    t.not(linked(tests!).length, 0, `${text} has a test`);
    return text;
  });
  for (const file of files) {
    const found = [...codeOf(file).matchAll(PRIVATE_LOOKS)].map(([looks]) => looks);
    const missing = found.filter(
      (looks) => !listed.some((text) => text.includes(looks.replace(/^[.{] ?/, ''))),
    );
    t.strictSame(missing, [], `${file} has nothing else`);
  }
  t.end();
});

t.test(`no file of src/ passes ${LINES_MAX} lines, and no two share a name`, (t) => {
  const long = files.filter((file) => textOf(file).split('\n').length > LINES_MAX + 1);
  t.strictSame(long, []);
  const names = files.map((file) => path.basename(file));
  const twins = names.filter((name, i) => names.indexOf(name) !== i);
  t.strictSame(twins, []);
  t.end();
});

/** Through it alone: it escapes what a terminal would obey. */
const TERMINAL_WRITERS = ['cli/terminal/output.ts'];
const WRITES =
  /\b(?:stdout|stderr)\b\??\.(?:write|fd|end)\b|\{[^{}]*\bstd(?:out|err)\b[^{}]*\} = process\b|\bconsole\.\w+\(|\bwriteSync\([12]\b/;

t.test('one module writes to a terminal, and it escapes what it prints', (t) => {
  const writers = files.filter((file) => {
    // Comments name these streams, too.
    return WRITES.test(textOf(file).replaceAll(/^\s*(?:\/?\*|\/\/).*$/gm, ''));
  });
  t.strictSame(writers.sort(), TERMINAL_WRITERS);
  t.end();
});

/**
 * What may still be there: lines of TypeScript, of all files in `scripts`, words of documents. A change lowers a ceiling
 * and never raises it; `final` is what the contract wants in the end.
 */
const CEILINGS = [
  { part: 'src', ceiling: 20_692, final: 22_000 },
  { part: 'base protocol', ceiling: 2_398, final: 2_400 },
  { part: 'store', ceiling: 5_300, final: 5_300 },
  { part: 'http host', ceiling: 1_843, final: 1_850 },
  { part: 'health telemetry control metrics', ceiling: 2_434, final: 2_500 },
  { part: 'cli', ceiling: 3_473, final: 3_500 },
  { part: 'session', ceiling: 2_396, final: 2_400 },
  { part: 'fleet', ceiling: 1_496, final: 1_500 },
  { part: 'vendor', ceiling: 1_349, final: 1_400 },
  { part: 'test', ceiling: 23_257, final: 26_000 },
  { part: 'scripts', ceiling: 2_540, final: 3_000 },
  { part: 'words', ceiling: 20_578, final: 25_000 },
];

/** @returns the paths of the files below a folder of the project whose name matches, without what npm installs. */
function filesBelow(folder: string, name: RegExp): string[] {
  return fs
    .readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => !/(?:^|\/)(?:node_modules|\.git|\.tap)\//.test(file) && name.test(file))
    .map((file) => path.join(ROOT, folder, file))
    .filter((file) => fs.statSync(file).isFile());
}

/** @returns how much of a part there is, in lines or words. */
function sizeOf(part: string): number {
  const count = (files: string[], what: RegExp) =>
    files.reduce((sum, file) => sum + (fs.readFileSync(file, 'utf8').match(what)?.length ?? 0), 0);
  if (part === 'words') return count(filesBelow('.', /\.(?:md|1)$/), /\S+/g);
  if (part === 'scripts') return count(filesBelow(part, /^(?!.*(?:\.png|package-lock\.json)$)/), /\n/g);
  const folders = part === 'src' || part === 'test' ? [part] : part.split(' ').map((name) => `src/${name}`);
  return count(
    folders.flatMap((folder) => filesBelow(folder, /\.ts$/)),
    /\n/g,
  );
}

t.test('no part of the project is larger than its ceiling', (t) => {
  for (const { part, ceiling, final } of CEILINGS) {
    const size = sizeOf(part);
    t.ok(size <= ceiling, `${part}: ${size} of at most ${ceiling}`);
    t.comment(`${part}: ${size}, ${Math.max(0, size - final)} above the final ${final}`);
  }
  t.end();
});

import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { ARCHITECTURE, tableBelow } from './harness/documents.ts';

const ROOT = path.resolve(import.meta.dirname, '..');

const files = fs
  .readdirSync(path.join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'));

/** The layer of each folder, as the architecture has it. */
const LAYER_OF = new Map(
  tableBelow(ARCHITECTURE, '## Layers').map(([layer, folder]) => [folder!.replaceAll('`', ''), layer!]),
);
const LAYERS = ['base', 'protocol', 'store', 'box', 'features', 'cli'];
/** Within the box: a folder sees those of a lower rank. */
const BOX_RANKS = [['host', 'telemetry'], ['health'], ['http', 'control', 'metrics']];
const PROGRAM = 'cli/program.ts';
const LINES_MAX = 400;
const SQL_FOLDER = 'store/';
const SQL_LIBRARY = 'better-sqlite3';
/** What the table of verbs may load: every command of courtd, and the list of its commands, waits for it. */
const LOADED_AT_EVERY_START = /^(base|protocol|cli\/options|cli\/terminal)\//;

interface Import {
  /** As written. */
  readonly from: string;
  readonly isTypeOnly: boolean;
  /** What `import()` loads is loaded when it is called, and types never. */
  readonly isAtOnce: boolean;
}

/** Of a file in src/. */
function importsOf(file: string): Import[] {
  return importsIn(path.join('src', file));
}

/** Every import and re-export of a file, and every import() in it, also in a type. */
function importsIn(file: string): Import[] {
  const text = fs.readFileSync(path.join(ROOT, file), 'utf8');
  const clauses = text.matchAll(/^(?:import|export)\s(?:(type)\s)?(?:([^;'"]*?)\sfrom\s)?'([^']+)'/gm);
  const calls = text.matchAll(/\b(?:import|require)\(\s*['"]([^'"]+)['"]\s*\)/g);
  return [
    ...clauses.map(([, type, , from]) => ({
      from: from!,
      isTypeOnly: type !== undefined,
      isAtOnce: type === undefined,
    })),
    ...calls.map(([, from]) => ({ from: from!, isTypeOnly: false, isAtOnce: false })),
  ];
}

/** The folder of src/ that a file is in; empty for src/main.ts. */
function folderOf(file: string): string {
  const folder = path.dirname(file);
  return folder === '.' ? '' : folder;
}

/** The first folder of a file; empty for src/main.ts, which is above all. */
const topOf = (file: string) => (file.includes('/') ? file.split('/')[0]! : '');

/** @returns where a first folder stands; a higher one sees a lower one. */
function rankOf(first: string): number {
  if (first === '') return Number.POSITIVE_INFINITY;
  const folder = [...LAYER_OF.keys()].find((folder) => topOf(`${folder}/`) === first)!;
  const layer = LAYER_OF.get(folder)!;
  const inBox = BOX_RANKS.findIndex((folders) => folders.includes(first));
  return LAYERS.indexOf(layer) + (inBox < 0 ? 0 : inBox / BOX_RANKS.length);
}

/** What each file, or each folder, of src/ imports of the others. */
function importsBetween(name: (file: string) => string): Map<string, Set<string>> {
  const graph = new Map<string, Set<string>>();
  for (const file of files) {
    for (const { from } of importsOf(file)) {
      if (!from.startsWith('.')) continue;
      const [own, other] = [name(file), name(path.join(path.dirname(file), from))];
      if (own !== other) graph.set(own, (graph.get(own) ?? new Set()).add(other));
    }
  }
  return graph;
}

/** @returns the first circle that is found, as a path; undefined if there is none. */
function circleIn(graph: ReadonlyMap<string, ReadonlySet<string>>): string[] | undefined {
  const done = new Set<string>();
  const visit = (node: string, path: readonly string[]): string[] | undefined => {
    if (path.includes(node)) return [...path.slice(path.indexOf(node)), node];
    if (done.has(node)) return undefined;
    for (const next of graph.get(node) ?? []) {
      const circle = visit(next, [...path, node]);
      if (circle !== undefined) return circle;
    }
    done.add(node);
    return undefined;
  };
  for (const node of graph.keys()) {
    const circle = visit(node, []);
    if (circle !== undefined) return circle;
  }
  return undefined;
}

t.test('every folder of src/ has its layer in the architecture, and none there is missing', (t) => {
  const folders = new Set(files.map(folderOf));
  t.strictSame([...folders].sort(), ['', ...LAYER_OF.keys()].sort());
  t.strictSame([...new Set(LAYER_OF.values())], LAYERS);
  t.end();
});

t.test('imports point down: never up, and never to another folder of the same layer', (t) => {
  let seen = 0;
  const wrong: string[] = [];
  for (const file of files) {
    for (const { from } of importsOf(file).filter(({ from }) => from.startsWith('.'))) {
      seen++;
      const target = path.join(path.dirname(file), from);
      const [own, other] = [topOf(file), topOf(target)];
      const isAllowed = own === other || rankOf(own) > rankOf(other);
      if (!files.includes(target) || !isAllowed) wrong.push(`${file} imports ${from}`);
    }
  }
  t.strictSame(wrong, []);
  t.ok(seen > files.length, `${seen} imports were looked at`);
  t.end();
});

t.test('nothing goes in a circle: neither files, types included, nor folders', (t) => {
  t.equal(circleIn(importsBetween((file) => file)), undefined);
  t.equal(circleIn(importsBetween(folderOf)), undefined);
  t.strictSame(
    circleIn(
      new Map([
        ['a', new Set(['b'])],
        ['b', new Set(['c'])],
        ['c', new Set(['b'])],
      ]),
    ),
    ['b', 'c', 'b'],
  );
  t.end();
});

t.test('the program loads the file of a verb only if the verb is called', (t) => {
  const seen = new Set([PROGRAM]);
  for (const file of seen) {
    const atOnce = importsOf(file).filter(({ from, isAtOnce }) => isAtOnce && from.startsWith('.'));
    for (const { from } of atOnce) seen.add(path.join(path.dirname(file), from));
  }
  seen.delete(PROGRAM);
  t.strictSame(
    [...seen].filter((file) => !LOADED_AT_EVERY_START.test(file)),
    [],
  );
  const verbs = importsOf(PROGRAM).filter(({ from, isAtOnce }) => !isAtOnce && from.startsWith('./'));
  t.ok(verbs.length > 20, `${verbs.length} verbs are loaded when they are called`);
  t.end();
});

t.test('only src/store knows SQLite: others import its types at the most', (t) => {
  const importers = files.filter((file) =>
    importsOf(file).some(({ from, isTypeOnly }) => from === SQL_LIBRARY && !isTypeOnly),
  );
  t.ok(importers.length > 0);
  for (const file of importers) t.ok(folderOf(file).startsWith(SQL_FOLDER), file);
  const sqlites = files.flatMap(importsOf).filter(({ from }) => /sqlite/.test(from) && !from.startsWith('.'));
  t.strictSame([...new Set(sqlites.map(({ from }) => from))], [SQL_LIBRARY]);
  t.end();
});

t.test('nothing imports node:http but as types: that would load undici at every start', (t) => {
  const imports = files.flatMap((file) => importsOf(file).map((one) => ({ file, ...one })));
  const http = imports.filter(({ from }) => from === 'node:http');
  t.ok(http.length > 0);
  t.strictSame(
    http.filter(({ isTypeOnly }) => !isTypeOnly),
    [],
  );
  t.end();
});

/** What is private to Node by its looks; of the parser's codes one is documented. */
const PRIVATE_LOOKS =
  /[.{] ?_(?!tcp\b)[a-z]\w*|\boverride \w+(?=\()|\.prototype\.\w+(?=\.call)|\bHPE_(?!HEADER_OVERFLOW\b)/g;

t.test(
  'what is private to Node is in one list, with where it is used and the test that tells of a change',
  (t) => {
    const codeOf = (file: string) =>
      fs.readFileSync(path.join(ROOT, 'src', file), 'utf8').replaceAll(/^ *(?:\/\*\*|\*|\/\/).*$/gm, '');
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
  },
);

t.test('only what deals with a fleet loads NATS', (t) => {
  const importers = files.filter((file) =>
    importsOf(file).some(({ from, isTypeOnly }) => from.startsWith('@nats-io/') && !isTypeOnly),
  );
  t.ok(importers.length > 0);
  for (const file of importers) t.match(folderOf(file), /^(fleet|cli\/(fleet|ship))(\/|$)/, file);
  t.end();
});

t.test(`no file of src/ passes ${LINES_MAX} lines`, (t) => {
  const linesOf = (file: string) =>
    fs.readFileSync(path.join(ROOT, 'src', file), 'utf8').split('\n').length - 1;
  t.strictSame(
    files.filter((file) => linesOf(file) > LINES_MAX),
    [],
  );
  t.end();
});

/** Through it alone: it escapes what a terminal would obey. */
const TERMINAL_WRITERS = ['cli/terminal/output.ts'];
const WRITES =
  /\b(?:stdout|stderr)\b\??\.(?:write|fd|end)\b|\{[^{}]*\bstd(?:out|err)\b[^{}]*\} = process\b|\bconsole\.\w+\(|\bwriteSync\([12]\b/;

t.test('one way leads to a terminal: whatever is printed is escaped on it', (t) => {
  const writers = files.filter((file) => {
    // Comments name these streams, too.
    const text = fs
      .readFileSync(path.join(ROOT, 'src', file), 'utf8')
      .replaceAll(/^\s*(?:\/?\*|\/\/).*$/gm, '');
    return WRITES.test(text);
  });
  t.strictSame(writers.sort(), TERMINAL_WRITERS);
  t.end();
});

/**
 * What may still be there: lines of TypeScript, of all files in `scripts`, words of documents. A change lowers a ceiling
 * and never raises it; `final` is what the contract wants in the end.
 */
const CEILINGS = [
  { part: 'src', ceiling: 26_913, final: 22_000 },
  { part: 'base protocol', ceiling: 3_022, final: 2_400 },
  { part: 'store', ceiling: 8_542, final: 5_300 },
  { part: 'http host', ceiling: 2_108, final: 1_850 },
  { part: 'health telemetry control metrics', ceiling: 3_264, final: 2_500 },
  { part: 'cli', ceiling: 3_826, final: 3_500 },
  { part: 'session', ceiling: 2_705, final: 2_400 },
  { part: 'fleet', ceiling: 1_755, final: 1_500 },
  { part: 'vendor', ceiling: 1_688, final: 1_400 },
  { part: 'test', ceiling: 32_052, final: 26_000 },
  { part: 'scripts', ceiling: 2_644, final: 3_000 },
  { part: 'words', ceiling: 21_523, final: 25_000 },
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

/** Tests of what scripts/ makes: they look at its functions. */
const TESTS_OF_SCRIPTS = /^test\/package\//;

t.test('scripts and tests stand on src/, and not on each other', (t) => {
  let seen = 0;
  const wrong: string[] = [];
  for (const [folder, other] of [
    ['scripts', 'test/'],
    ['test', 'scripts/'],
  ] as const) {
    const names = fs.readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' });
    for (const name of names.filter((name) => name.endsWith('.ts') && !name.includes('node_modules/'))) {
      const file = path.join(folder, name);
      if (TESTS_OF_SCRIPTS.test(file)) continue;
      for (const { from } of importsIn(file).filter(({ from }) => from.startsWith('.'))) {
        seen++;
        if (path.join(path.dirname(file), from).startsWith(other)) wrong.push(`${file} imports ${from}`);
      }
    }
  }
  t.strictSame(wrong, []);
  t.ok(seen > 100, `${seen} imports were looked at`);
  t.end();
});

import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';

const ROOT = path.resolve(import.meta.dirname, '..');

const files = fs
  .readdirSync(path.join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'));

/** What the verbs of the command line share; every other folder of src/cli/ is the room of one verb. */
const CLI_SHARED = ['cli/terminal', 'cli/options', 'cli/checks'];
const VERBS = [...new Set(files.map(roomOf))].filter(
  (room) => room.startsWith('cli/') && !CLI_SHARED.includes(room),
);

/**
 * The floors of the house, from the ground up: a room sees those below its floor, and nothing of its own floor but itself. The
 * empty name is the top: src/main.ts.
 */
const FLOORS: readonly (readonly string[])[] = [
  ['base'],
  ['protocol'],
  ['store/sqlite'],
  ['store/dedup', 'store/wal'],
  ['store/directory', 'store/layout'],
  ['store/open', 'store/read', 'store/rejections', 'store/tokens', 'store/write'],
  ['store/backup', 'store/inspection', 'store/retention'],
  ['store/upgrade'],
  ['store'],
  ['analysis', 'telemetry'],
  ['metrics'],
  ['http/admission'],
  ['http/connection'],
  ['http/request'],
  ['camera', 'control', 'host', 'http', 'nats'],
  ['fleet', 'ship/feed'],
  ['ship/sink'],
  ['ship'],
  ['cli/terminal'],
  ['cli/options'],
  ['cli/checks'],
  VERBS,
  ['cli'],
  [''],
];
const ROOMS = FLOORS.flat();
/** More would be a corridor again. */
const FILES_MAX = 16;
const LINES_MAX = 400;
const SQL_FOLDER = 'store/';
const SQL_LIBRARY = 'better-sqlite3';
/** What the definition of a verb may load: every command of courtd, and its help, waits for it. */
const LOADED_AT_EVERY_START =
  /^(base|protocol|host\/logLevels|cli\/options|cli\/terminal|cli\/\w+\/\w+Command)\b/;

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
function roomOf(file: string): string {
  const folder = path.dirname(file);
  return folder === '.' ? '' : folder;
}

function floorOf(room: string): number {
  return FLOORS.findIndex((rooms) => rooms.includes(room));
}

t.test(
  'every folder of src/ has its floor, no floor is empty, and no room has grown into a corridor',
  (t) => {
    t.strictSame([...new Set(files.map(roomOf))].sort(), [...ROOMS].sort());
    for (const room of ROOMS) {
      const count = files.filter((file) => roomOf(file) === room).length;
      t.ok(count <= FILES_MAX, `${room} has ${count} files`);
    }
    t.end();
  },
);

t.test('imports point down: never up, and never to another room on the same floor', (t) => {
  let seen = 0;
  for (const file of files) {
    for (const { from } of importsOf(file).filter(({ from }) => from.startsWith('.'))) {
      seen++;
      const target = path.join(path.dirname(file), from);
      t.ok(files.includes(target), `${file} imports ${from}, which is there and in src/`);
      const [own, other] = [roomOf(file), roomOf(target)];
      if (own === other) continue;
      t.ok(floorOf(own) > floorOf(other), `${file} may see ${target}`);
    }
  }
  t.ok(seen > files.length, `${seen} imports were looked at`);
  t.end();
});

t.test(
  'each verb of the command line is defined in a file that loads the rest of it only when it runs',
  (t) => {
    t.ok(VERBS.length > 5);
    const registered = importsOf('cli/program.ts').map(({ from }) => from);
    for (const room of VERBS) {
      const definition = `${room}/${path.basename(room)}Command.ts`;
      if (!t.ok(files.includes(definition), definition)) continue;
      t.ok(registered.includes(`./${path.relative('cli', definition)}`), `${definition} is registered`);
    }
    const seen = new Set<string>();
    const follow = (file: string) => {
      if (seen.has(file)) return;
      seen.add(file);
      for (const { from } of importsOf(file).filter(
        ({ from, isAtOnce }) => isAtOnce && from.startsWith('.'),
      )) {
        const target = path.join(path.dirname(file), from);
        t.match(target, LOADED_AT_EVERY_START, `${file} imports ${target}`);
        follow(target);
      }
    };
    for (const room of VERBS) follow(`${room}/${path.basename(room)}Command.ts`);
    t.end();
  },
);

t.test('only src/store knows SQLite: others import its types at the most', (t) => {
  const importers = files.filter((file) =>
    importsOf(file).some(({ from, isTypeOnly }) => from === SQL_LIBRARY && !isTypeOnly),
  );
  t.ok(importers.length > 0);
  for (const file of importers) t.ok(roomOf(file).startsWith(SQL_FOLDER), file);
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

t.test('only what deals with a fleet loads NATS', (t) => {
  const importers = files.filter((file) =>
    importsOf(file).some(({ from, isTypeOnly }) => from.startsWith('@nats-io/') && !isTypeOnly),
  );
  t.ok(importers.length > 0);
  for (const file of importers) t.match(roomOf(file), /^(nats|fleet|ship|cli\/(fleet|ship))(\/|$)/, file);
  t.end();
});

t.test(`no file of src/ passes ${LINES_MAX} lines`, (t) => {
  for (const file of files) {
    const lines = fs.readFileSync(path.join(ROOT, 'src', file), 'utf8').split('\n').length - 1;
    t.ok(lines <= LINES_MAX, `${file} has ${lines}`);
  }
  t.end();
});

/** Tests of what scripts/ makes: they look at its functions. */
const TESTS_OF_SCRIPTS = /^test\/(?:package|bench)\//;

t.test('scripts and tests stand on src/, and not on each other', (t) => {
  let seen = 0;
  for (const [folder, other] of [
    ['scripts', 'test/'],
    ['test', 'scripts/'],
  ] as const) {
    const names = fs.readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' });
    for (const name of names.filter((name) => name.endsWith('.ts'))) {
      const file = path.join(folder, name);
      if (TESTS_OF_SCRIPTS.test(file)) continue;
      for (const { from } of importsIn(file).filter(({ from }) => from.startsWith('.'))) {
        seen++;
        t.notOk(path.join(path.dirname(file), from).startsWith(other), `${file} imports ${from}`);
      }
    }
  }
  t.ok(seen > 100, `${seen} imports were looked at`);
  t.end();
});

import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import t from 'tap';
import { BIN, courtd, Daemon, run, temporaryFolder } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';

/** Every command that works on what is there. */
const READERS = [
  ['session', 'list'],
  ['session', 'list', '--json'],
  ['session', 'show', 's'],
  ['event', 'show', 's', 'e'],
  ['export', 's'],
  ['token', 'list'],
  ['token', 'revoke', '1'],
];
/** Those that make what is missing. */
const MAKERS = [
  ['serve', '--port', '0'],
  ['token', 'rotate'],
];

/** Everything under a folder: what it is, who may use it, and what it holds. */
function snapshot(folder: string): string[] {
  return ['.', ...fs.readdirSync(folder, { recursive: true, encoding: 'utf8' })].sort().map((name) => {
    const file = path.join(folder, name);
    const { mode, uid } = fs.lstatSync(file);
    const content = fs.lstatSync(file).isFile() ? fs.readFileSync(file) : '';
    return `${name} ${mode.toString(8)} ${uid} ${createHash('sha256').update(content).digest('hex')}`;
  });
}

interface Trouble {
  /** What the test is called. */
  readonly name: string;
  /** Makes the trouble in a folder. @returns the data directory. */
  readonly make: (folder: string) => string | Promise<string>;
  readonly commands: readonly (readonly string[])[];
  readonly sentence: RegExp;
}

function database(directory: string, ...statements: string[]): string {
  fs.mkdirSync(directory, { recursive: true });
  const db = new Database(path.join(directory, 'courtd.db'));
  for (const statement of statements) db.exec(statement);
  db.close();
  return directory;
}

async function rotated(folder: string): Promise<string> {
  const data = path.join(folder, 'data');
  await courtd(['token', 'rotate', '--data', data]);
  return data;
}

function withFile(folder: string, content: string | Buffer): string {
  fs.writeFileSync(path.join(folder, 'courtd.db'), content);
  return folder;
}

const TROUBLES: Trouble[] = [
  {
    name: 'a data directory that is missing',
    make: (folder) => path.join(folder, 'none'),
    commands: READERS,
    sentence: /There is no courtd database in .*none: .*"courtd serve" or "courtd token rotate" makes one/,
  },
  {
    name: 'a data directory in a folder that is missing too',
    make: (folder) => path.join(folder, 'no', 'such', 'folder'),
    commands: READERS,
    sentence: /There is no courtd database in .*folder: /,
  },
  {
    name: 'a data directory without a database',
    make: (folder) => folder,
    commands: READERS,
    sentence: /There is no courtd database in /,
  },
  {
    name: 'a file instead of a data directory',
    make: (folder) => path.join(withFile(folder, 'text'), 'courtd.db'),
    commands: [...READERS, ...MAKERS],
    sentence: /courtd\.db is not a directory\./,
  },
  {
    name: 'a directory instead of a database',
    make: (folder) => {
      fs.mkdirSync(path.join(folder, 'courtd.db'));
      return folder;
    },
    commands: [...READERS, ...MAKERS],
    sentence: /courtd\.db is a directory, not a database: /,
  },
  {
    name: 'an empty file',
    make: (folder) => withFile(folder, ''),
    commands: READERS,
    sentence: /courtd\.db is not set up yet: start "courtd serve" once/,
  },
  {
    name: 'a text file',
    make: (folder) => withFile(folder, 'This is no database, whatever its name says.\n'.repeat(9)),
    commands: [...READERS, ...MAKERS],
    sentence: /courtd\.db is not a courtd database: nothing was changed/,
  },
  {
    name: 'a file of a few bytes',
    make: (folder) => withFile(folder, 'SQLite format 3\0'),
    commands: [...READERS, ...MAKERS],
    sentence: /courtd\.db is not a courtd database: nothing was changed/,
  },
  {
    name: 'a SQLite database of another program',
    make: (folder) => database(folder, 'CREATE TABLE event (seq INTEGER)', 'INSERT INTO event VALUES (1)'),
    commands: [...READERS, ...MAKERS],
    sentence: /courtd\.db is not a courtd database: nothing was changed/,
  },
  {
    name: 'a database with a log of another program',
    make: (folder) =>
      database(folder, 'PRAGMA journal_mode = WAL', 'PRAGMA application_id = 7', 'CREATE TABLE x (y)'),
    commands: [...READERS, ...MAKERS],
    sentence: /courtd\.db is not a courtd database: nothing was changed/,
  },
  {
    name: 'a database of a newer courtd',
    make: async (folder) => database(await rotated(folder), 'PRAGMA user_version = 99'),
    commands: [...READERS, ...MAKERS],
    sentence:
      /courtd\.db was written by a newer courtd \(layout 99, this version supports up to \d+\): nothing was changed/,
  },
  {
    name: 'a damaged database',
    make: async (folder) => {
      const data = await rotated(folder);
      const bytes = fs.readFileSync(path.join(data, 'courtd.db'));
      return withFile(data, bytes.fill(0xa5, 100));
    },
    commands: [...READERS, ...MAKERS],
    sentence: /The database in .* is damaged\. Nothing was changed/,
  },
];

for (const { name, make, commands, sentence } of TROUBLES) {
  t.test(`${name}: one sentence, status 1, nothing is made or changed`, async (t) => {
    const folder = temporaryFolder(t);
    const data = await make(folder);
    const before = snapshot(folder);
    const check = async (command: readonly string[]) => {
      const { status, stdout, stderr } = await courtd([...command, '--data', data]);
      const what = command.join(' ');
      t.strictSame({ status, stdout }, { status: 1, stdout: '' }, what);
      t.match(stderr, /^courtd: [^\n]+\n$/, what);
      t.match(stderr, sentence, what);
    };
    await Promise.all(commands.map(check));
    t.strictSame(snapshot(folder), before);
  });
}

t.test('a pipe in the place of a file: one sentence, and nobody waits for its other end', async (t) => {
  const data = await rotated(temporaryFolder(t));
  const backup = path.join(temporaryFolder(t), 'backup.db');
  await courtd(['backup', backup, '--data', data]);
  for (const name of ['courtd.db', 'courtd.db-journal', 'courtd.clock']) {
    const [pipe, away] = [path.join(data, name), path.join(data, 'away')];
    if (fs.existsSync(pipe)) fs.renameSync(pipe, away);
    await run('mkfifo', ['-m', '660', pipe]);
    for (const args of [
      ['session', 'list'],
      ['restore', backup],
      ['prune', '--yes', '--older-than', '1d'],
    ]) {
      const { status, stderr } = await run('timeout', ['-s', 'KILL', '20', BIN, ...args, '--data', data]);
      const what = `${args.join(' ')} over ${name}`;
      t.equal(status, 1, what);
      t.match(stderr, /^courtd: \S+ is a pipe, a socket or a device, [^\n]+: remove it\.\n$/, what);
    }
    fs.rmSync(pipe);
    if (fs.existsSync(away)) fs.renameSync(away, pipe);
  }
});

t.test('an empty file is set up by what makes a database', async (t) => {
  const data = withFile(temporaryFolder(t), '');
  t.equal((await courtd(['token', 'rotate', '--data', data])).status, 0);
  t.equal((await courtd(['session', 'list', '--json', '--data', data])).stdout, '[]\n');
});

t.test(
  'a session or an event that does not exist: one sentence, status 1, and no file is made',
  async (t) => {
    const daemon = await Daemon.start(t);
    await daemon.post(event({ session_id: 'known' }));
    await daemon.stop();
    const before = snapshot(daemon.data);
    const file = path.join(daemon.data, 'out.csv');
    const commands = [
      ['session', 'show', 'no "such"'],
      ['event', 'show', 'no "such"', 'e'],
      ['export', 'no "such"', '-o', file],
    ];
    for (const command of commands) {
      const { status, stdout, stderr } = await daemon.command(...command);
      t.strictSame({ status, stdout }, { status: 1, stdout: '' }, command.join(' '));
      t.match(stderr, /^courtd: There is no [^\n]*session "no \\"such\\""[^\n]*\n$/);
      t.strictSame(snapshot(daemon.data), before, command.join(' '));
    }
    t.match(await daemon.command('event', 'show', 'known', 'e'), {
      status: 1,
      stderr: /no event "e" in session "known"/,
    });
    t.match(await daemon.command('token', 'revoke', '7'), { status: 1, stderr: /There is no token 7: / });
  },
);

const NOBODY = 65_534;
const asNobody = { uid: NOBODY, gid: NOBODY, cwd: '/' };
const isRoot = process.getuid?.() === 0;
const isReadable = !isRoot || (await run(BIN, ['--version'], asNobody)).status === 0;

t.test(
  'a data directory that is not accessible to this user: one sentence, status 1, nothing is changed',
  { skip: !isReadable && 'the repository is closed to other users' },
  async (t) => {
    const folder = temporaryFolder(t);
    const data = await rotated(folder);
    const backup = path.join(temporaryFolder(t), 'backup.db');
    await courtd(['backup', backup, '--data', data]);
    fs.chmodSync(path.dirname(backup), 0o755);
    fs.chmodSync(backup, 0o644);
    const user = isRoot ? asNobody : {};
    // First the directory itself, then the one around it.
    for (const [closed, open] of [
      [data, folder],
      [folder, data],
    ] as const) {
      fs.chmodSync(open, 0o755);
      fs.chmodSync(closed, 0o000);
      const before = isRoot ? snapshot(folder) : [];
      for (const command of [...READERS, ...MAKERS, ['restore', backup]]) {
        const { status, stdout, stderr } = await run(BIN, [...command, '--data', data], user);
        t.strictSame({ status, stdout }, { status: 1, stdout: '' }, command.join(' '));
        t.match(stderr, /^courtd: [^\n]*data is not accessible to this user: [^\n]+\n$/, command.join(' '));
      }
      if (isRoot) t.strictSame(snapshot(folder), before);
      fs.chmodSync(closed, 0o755);
    }
  },
);

import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import type { Test } from 'tap';
import { BIN, courtd, run, temporaryFolder } from '../harness/daemon.ts';

/** Every command that works on what is there. */
export const READERS = [
  ['tail', '--follow', '--after', '0'],
  ['session', 'list'],
  ['session', 'list', '--json'],
  ['session', 'show', 's'],
  ['event', 'show', 's', 'e'],
  ['export', 's'],
  ['token', 'list'],
  ['token', 'revoke', '1'],
  ['conflicts'],
  ['tail'],
];
/** Those that make what is missing. */
export const MAKERS = [
  ['serve', '--port', '0'],
  ['token', 'rotate'],
];

/** Everything under a folder: what it is, who may use it, and what it holds. */
export function snapshot(folder: string): string[] {
  return ['.', ...fs.readdirSync(folder, { recursive: true, encoding: 'utf8' })].sort().map((name) => {
    const file = path.join(folder, name);
    const { mode, uid } = fs.lstatSync(file);
    const content = fs.lstatSync(file).isFile() ? fs.readFileSync(file) : '';
    return `${name} ${mode.toString(8)} ${uid} ${createHash('sha256').update(content).digest('hex')}`;
  });
}

interface Fault {
  /** What the test is called. */
  readonly name: string;
  /** Makes the fault in a folder. @returns the data directory. */
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

export async function rotated(folder: string): Promise<string> {
  const data = path.join(folder, 'data');
  await courtd(['token', 'rotate', '--data', data]);
  return data;
}

export function withFile(folder: string, content: string | Buffer): string {
  fs.writeFileSync(path.join(folder, 'courtd.db'), content);
  return folder;
}

const FAULTS: Fault[] = [
  {
    name: 'a data directory that is missing',
    make: (folder) => path.join(folder, 'none'),
    commands: READERS,
    sentence:
      /There is no courtd database in .*none: .*"courtd serve --data .*"courtd token rotate --data .* makes one/,
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
    sentence: /courtd\.db is not set up yet: start "courtd serve .*" once/,
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

/**
 * Every fault that a command can find in a data directory, and what it says of it.
 * @param everyth command of those that meet it is tried, from another one on for each fault; 1: all.
 */
export function tryDirectoryFaults(t: Test, everyth: number): void {
  for (const [i, { name, make, commands, sentence }] of FAULTS.entries()) {
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
      await Promise.all(commands.filter((_, place) => (place + i) % everyth === 0).map(check));
      t.strictSame(snapshot(folder), before);
    });
  }
}

/** @param cases which file has become a pipe, and what is run then. */
export function tryPipes(
  t: Test,
  cases: (backup: string) => readonly (readonly [file: string, args: readonly string[]])[],
): void {
  t.test('a pipe in the place of a file: one sentence, and nobody waits for its other end', async (t) => {
    const data = await rotated(temporaryFolder(t));
    const backup = path.join(temporaryFolder(t), 'backup.db');
    await courtd(['backup', backup, '--data', data]);
    for (const [name, args] of cases(backup)) {
      const [pipe, away] = [path.join(data, name), path.join(data, 'away')];
      if (fs.existsSync(pipe)) fs.renameSync(pipe, away);
      await run('mkfifo', ['-m', '660', pipe]);
      const { status, stderr } = await run('timeout', ['-s', 'KILL', '120', BIN, ...args, '--data', data]);
      const what = `${args.join(' ')} over ${name}`;
      t.equal(status, 1, what);
      t.match(stderr, /^courtd: \S+ is a pipe, a socket or a device, [^\n]+: remove it\.\n$/, what);
      fs.rmSync(pipe);
      if (fs.existsSync(away)) fs.renameSync(away, pipe);
    }
  });
}

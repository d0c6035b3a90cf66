import fs from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import t from 'tap';
import { Random } from '../../src/vendor/simulate/random.ts';
import { type CommandResult, temporaryFolder } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { commandInProcess } from '../harness/inProcess.ts';
import { Committer, court, scratch } from '../harness/scratchStore.ts';

/**
 * Storage changes what it was given: a bit, 64 bytes, a page, anywhere in the file. Each export and each tail then equals the one
 * before, or says what is missing and ends with status 1. The flips are the same ones each time; `FLIPS` and `SEED` choose others.
 */

const FLIPS = Number(process.env.FLIPS ?? 500);
const SEED = Number(process.env.SEED ?? 20_260_314);
const PAGE_BYTES = 4096;
const SESSIONS = ['match-1', 'match-2', 'match-3'];
/** A third of the flips hits these, small as they are. */
const SMALL = ['key', 'session', 'origin', 'flushed', 'sqlite_schema', 'sqlite_sequence', 'pruned', 'epoch'];

/** @returns a data directory with three sessions, two thirds of their keys in the file, and corrections. */
function box(t: Parameters<typeof scratch>[0]): string {
  const { folder, db } = scratch(t);
  const writer = new Committer(db, () => Date.UTC(2026, 2, 14, 12));
  const types = ['BALL_BOUNCE', 'BALL_HIT', 'BALL_SPEED', 'PLAYER_POSITION'];
  for (let i = 0; i < 900; i++) {
    const sent = event({
      event_id: `event-${i - (i % 7 === 3 ? 3 : 0)}`,
      session_id: SESSIONS[Math.floor(i / 3) % 3],
      court_id: `court-${Math.floor(i / 3) % 3}`,
      eot: new Date(Date.UTC(2026, 2, 14, 11) + 1_000 * i).toISOString(),
      type: types[i % types.length],
      revision: i % 7 === 3 ? 1 : 0,
      payload: {
        x_ft: i / 8,
        y_ft: -i / 16,
        kmh: i % 90,
        player_id: `player-${i % 4}`,
        note: 'é'.repeat(i % 40),
      },
      ...(i % 5 === 0 && { calibration: { id: i } }),
    });
    writer.append(...court(sent));
    if (i === 600) writer.sealAll();
  }
  db.close();
  return folder;
}

/** What a flip hits: a part of the file, overwritten. */
interface Flip {
  readonly at: number;
  readonly bytes: Buffer;
  readonly what: string;
}

function flipOf(random: Random, file: Buffer, pages: ReadonlyMap<string, readonly number[]>): Flip {
  const small = random.next() < 0.33 ? SMALL[Math.floor(random.next() * SMALL.length)]! : undefined;
  const own = small === undefined ? undefined : pages.get(small)!;
  const page =
    own === undefined
      ? Math.floor((random.next() * file.length) / PAGE_BYTES)
      : own[Math.floor(random.next() * own.length)]! - 1;
  const kind = ['bit', 'bytes', 'page'][[0, 0, 0, 1, 1, 2][Math.floor(random.next() * 6)]!]!;
  const at = page * PAGE_BYTES + (kind === 'page' ? 0 : Math.floor(random.next() * PAGE_BYTES));
  const length = Math.min({ bit: 1, bytes: 64, page: PAGE_BYTES }[kind]!, file.length - at);
  const bytes = Buffer.from(file.subarray(at, at + length));
  if (kind === 'bit') bytes[0]! ^= 1 << Math.floor(random.next() * 8);
  else for (let i = 0; i < length; i++) bytes[i] = Math.floor(random.next() * 256);
  return { at, bytes, what: `${kind} at ${at} (page ${page + 1}${small === undefined ? '' : `, ${small}`})` };
}

/** The pages of each table and index. */
function pagesOf(folder: string): Map<string, number[]> {
  const db = new Database(path.join(folder, 'courtd.db'), { readonly: true });
  const pages = new Map<string, number[]>();
  for (const { name, pageno } of db
    .prepare<[], { name: string; pageno: number }>('SELECT name, pageno FROM dbstat')
    .all()) {
    pages.set(name, [...(pages.get(name) ?? []), pageno]);
  }
  db.close();
  return pages;
}

/** A command whose output is compared, and how that is read: by its lines. */
interface Reading {
  readonly name: string;
  readonly run: (data: string) => Promise<CommandResult>;
}

const READINGS: readonly Reading[] = [
  {
    name: `export ${SESSIONS[0]}`,
    run: (data) => commandInProcess(['export', SESSIONS[0]!, '--data', data]),
  },
  { name: 'tail', run: (data) => commandInProcess(['tail', '--json', '--after', '0', '--data', data]) },
  {
    name: 'export --since',
    run: async (data) => {
      const day = path.join(data, 'day/');
      fs.rmSync(day, { recursive: true, force: true });
      const options = ['--format', 'ndjson', '--data', data];
      const result = await commandInProcess(['export', '--since', '2000-01-01', '-o', day, ...options]);
      const names = fs.existsSync(day)
        ? fs.readdirSync(day, { recursive: true, encoding: 'utf8' }).sort()
        : [];
      const files = names.filter((name) => name.endsWith('.ndjson'));
      const texts = files.map((name) => `${name}\n${fs.readFileSync(path.join(day, name), 'utf8')}`);
      return { ...result, stdout: texts.join('') };
    },
  },
];

/** Which line is the current revision follows from others, which may have been left out. */
const withoutCurrent = (line: string) => line.replace(/^((?:[^,]*,){3})(?:true|false),/, '$1');

/** @returns the lines that only one of two texts has, the first few. */
function differenceOf(one: string, other: string): string {
  const only = (a: string, b: string) => a.split('\n').filter((line) => !b.includes(line));
  return [...only(one, other).map((line) => `\n+ ${line}`), ...only(other, one).map((line) => `\n- ${line}`)]
    .slice(0, 4)
    .join('');
}

/** @returns what is wrong about a result; empty: nothing. */
function faultOf(result: CommandResult, whole: CommandResult): string {
  const { status, stdout, stderr } = result;
  if (status === 0)
    return stdout === whole.stdout ? '' : `another output, and status 0${differenceOf(stdout, whole.stdout)}`;
  if (status !== 1 || !stderr.includes('courtd: ')) return `status ${status} without a sentence`;
  if (stderr.includes('bug in courtd') || stderr.includes('    at ')) return 'no fault of courtd';
  const known = new Set(whole.stdout.split('\n').map(withoutCurrent));
  const strange = stdout.split('\n').filter((line) => !known.has(withoutCurrent(line)));
  return strange.length === 0 ? '' : `lines that were never stored: ${strange[0]}`;
}

t.test(`${FLIPS} flips (SEED=${SEED}): nothing is silent`, { timeout: 900_000 }, async (t) => {
  process.setMaxListeners(0);
  t.teardown(() => process.setMaxListeners(10));
  const original = box(t);
  const pages = pagesOf(original);
  const file = fs.readFileSync(path.join(original, 'courtd.db'));
  const whole = new Map<string, CommandResult>();
  for (const { name, run } of READINGS) whole.set(name, await run(original));
  for (const [name, { status, stderr }] of whole) t.equal(status, 0, `${name}: ${stderr}`);
  t.equal(whole.get('tail')!.stdout.split('\n').length - 1, 900);
  const random = new Random(SEED);
  const data = temporaryFolder(t);
  let [harmless, told] = [0, 0];
  for (let i = 0; i < FLIPS; i++) {
    const { at, bytes, what } = flipOf(random, file, pages);
    for (const name of fs.readdirSync(data)) fs.rmSync(path.join(data, name), { recursive: true });
    const damaged = Buffer.from(file);
    bytes.copy(damaged, at);
    for (const { name, run } of READINGS) {
      // Afresh: opening a database may write to it.
      fs.rmSync(`${path.join(data, 'courtd.db')}-wal`, { force: true });
      fs.rmSync(`${path.join(data, 'courtd.db')}-shm`, { force: true });
      fs.writeFileSync(path.join(data, 'courtd.db'), damaged);
      const result = await run(data);
      const fault = faultOf(result, whole.get(name)!);
      if (fault !== '')
        t.fail(`flip ${i}, ${what}: ${name}: ${fault}`, { stderr: result.stderr.slice(0, 500) });
      if (result.status === 0) harmless++;
      else told++;
    }
  }
  t.comment(`${FLIPS} flips, ${told} readings told, ${harmless} were as before`);
  t.ok(told > FLIPS / 2 && harmless > FLIPS / 2, `${told} told, ${harmless} harmless`);
});

import fs from 'node:fs';
import path from 'node:path';
import t, { type Test } from 'tap';
import { steadyName } from '../../src/session/export/fileNames.ts';
import { courtd, temporaryFolder } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { csvObjects } from '../harness/rfc4180.ts';
import { Committer, court, scratch } from '../harness/scratchStore.ts';

runInProcess();

/** A database whose events are received when the test says, and a directory beside it that does not exist yet. */
function box(t: Test) {
  const { folder: data, db } = scratch(t);
  const lake = path.join(temporaryFolder(t), 'lake');
  let nowMs = 0;
  const committer = new Committer(db, () => nowMs);
  return {
    lake,
    /** @param received ISO 8601. */
    store(received: string, session_id: string, ...eots: string[]) {
      nowMs = Date.parse(received);
      committer.append(...court(...eots.map((eot) => event({ session_id, eot }))));
    },
    exportAll: (...args: string[]) =>
      courtd(['export', '--all', '-o', `${lake}/`, '--data', data, ...args], { TZ: 'Europe/Berlin' }),
    files: () =>
      fs.readdirSync(lake, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('v')),
    eots: (name: string) => csvObjects(fs.readFileSync(path.join(lake, name), 'utf8')).map(({ eot }) => eot),
  };
}

t.test(
  'every session of which an event was received in that time is written whole, under the day of its first event in UTC',
  async (t) => {
    const { store, exportAll, lake, eots } = box(t);
    store('2026-03-14T10:00Z', 'before', '2026-03-14T09:59:00Z');
    store('2026-03-14T10:00Z', 'over', '2026-03-13T23:30:00Z', '2026-03-14T09:59:00Z');
    store('2026-03-15T10:00Z', 'over', '2026-03-15T09:59:00Z');
    store('2026-03-15T11:00Z', 'Late/at night', '2026-03-15T00:30:00+01:00');
    store('2026-03-16T10:00Z', 'after', '2026-03-15T09:00:00Z');
    const { status, stdout, stderr } = await exportAll(
      ...['--received-from', '2026-03-15T10:00Z', '--received-to', '2026-03-16T10:00Z'],
    );
    t.match({ status, stdout }, { status: 0, stdout: '' }, stderr);
    t.strictSame(fs.readdirSync(lake).sort(), ['day=2026-03-13', 'day=2026-03-14']);
    t.strictSame(eots('day=2026-03-13/over.csv'), [
      '2026-03-13T23:30:00Z',
      '2026-03-14T09:59:00Z',
      '2026-03-15T09:59:00Z',
    ]);
    t.strictSame(fs.readdirSync(path.join(lake, 'day=2026-03-14')), ['%4Cate%2Fat%20night.csv']);
    t.match(
      stderr,
      /\n2 sessions with 4 events written to .*; what comes from now on: --received-from \d{4}-.*Z\.\n$/,
    );

    await exportAll();
    t.equal(fs.readdirSync(path.join(lake, 'day=2026-03-14')).length, 2, 'without a time every session');
  },
);

t.test(
  'a session that has grown replaces its file, also where its first event is now of another day',
  async (t) => {
    const { store, exportAll, lake, files, eots } = box(t);
    store('2026-03-14T10:00Z', 'growing', '2026-03-14T09:59:00Z');
    store('2026-03-14T10:00Z', 'other', '2026-03-14T09:59:00Z');
    await exportAll();
    store('2026-03-14T12:00Z', 'growing', '2026-03-13T09:59:00Z');
    // What an export that was killed has left, and a file that is not courtd's.
    fs.writeFileSync(path.join(lake, 'day=2026-03-14/.other.csv.4194305.partial'), 'half');
    fs.writeFileSync(path.join(lake, 'day=2026-03-14/notes.txt'), 'mine');
    for (let twice = 0; twice < 2; twice++) {
      t.match(await exportAll(), { status: 0 });
      t.strictSame(files().sort(), ['day=2026-03-13/growing.csv', 'day=2026-03-14/other.csv']);
      t.equal(eots('day=2026-03-13/growing.csv').length, 2);
      t.strictSame(fs.readdirSync(path.join(lake, 'day=2026-03-14')).sort(), ['notes.txt', 'other.csv']);
    }
  },
);

t.test('nothing is made where no event was received in that time', async (t) => {
  const { store, exportAll, lake } = box(t);
  store('2026-03-14T10:00Z', 's', '2026-03-14T09:59:00Z');
  const result = await exportAll('--received-from', '2026-03-15');
  t.match(result, { status: 0, stderr: 'No event was received in that time: nothing is written.\n' });
  t.notOk(fs.existsSync(lake));
});

t.test('a place that cannot be written is told in a sentence, and what is there stays whole', async (t) => {
  const { store, exportAll, lake } = box(t);
  store('2026-03-14T10:00Z', 's', '2026-03-14T09:59:00Z');
  fs.writeFileSync(lake, 'a file');
  t.match(await exportAll(), {
    status: 1,
    stderr: /^courtd: Cannot write to [^\n]+: file already exists[^\n]+\n$/,
  });
  fs.rmSync(lake);
  fs.mkdirSync(lake);
  fs.writeFileSync(path.join(lake, 'day=2026-03-14'), 'a file');
  t.match(await exportAll(), { status: 1, stderr: /^courtd: Cannot write to [^\n]+\n$/ });
});

t.test('a session_id comes back from its file name, whatever the other sessions are called', (t) => {
  const ids = [
    'match-17',
    'Match-17',
    'MATCH-17',
    'a/b',
    'a%2Fb',
    '..',
    '.x',
    '-o',
    'é',
    'e\u0301',
    '日本',
    '🎾',
    'x~y',
    'C:',
  ];
  const names = ids.map(steadyName);
  t.equal(names[0], 'match-17');
  t.strictSame(names.map(decodeURIComponent), ids);
  for (const long of ['x'.repeat(256), '🎾'.repeat(256), `${'x'.repeat(255)}y`]) names.push(steadyName(long));
  t.equal(new Set(names.map((name) => name.toLowerCase())).size, names.length, 'on every file system');
  for (const name of names)
    t.match(name, /^(?:[a-z0-9_]|%[0-9A-F]{2})(?:[a-z0-9_.-]|%[0-9A-F]{2})*(?:~[0-9a-f]{16})?$/);
  for (const name of names) t.ok(name.length <= 100);
  t.end();
});

import fs from 'node:fs';
import path from 'node:path';
import t, { type Test } from 'tap';
import { fileNameOf } from '../../src/session/export/exportMany.ts';
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
    exportMany: (...args: string[]) =>
      courtd(['export', '-o', `${lake}/`, '--data', data, ...args], { TZ: 'Europe/Berlin' }),
    files: () =>
      fs.readdirSync(lake, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('v')),
    eots: (name: string) => csvObjects(fs.readFileSync(path.join(lake, name), 'utf8')).map(({ eot }) => eot),
  };
}

t.test(
  'each session that received an event since TIME and before TIME is written whole, by the UTC day of its first receipt',
  async (t) => {
    const { store, exportMany, files, eots } = box(t);
    store('2026-03-14T10:00Z', 'before', '2026-03-14T09:59:00Z');
    // A camera without a clock says 1970, and the session goes on on the next day.
    store('2026-03-14T23:59:59.999Z', 'over', '1970-01-01T00:00:12Z', '2026-03-14T23:59:59Z');
    store('2026-03-15T10:00Z', 'over', '2026-03-15T09:59:00Z');
    store('2026-03-15T11:00Z', 'Late/at night', '2026-03-15T00:30:00+01:00');
    store('2026-03-16T10:00Z', 'after', '2026-03-15T09:00:00Z');
    const { status, stdout, stderr } = await exportMany(
      ...['--since', '2026-03-15T10:00Z', '--until', '2026-03-16T10:00Z'],
    );
    t.match({ status, stdout }, { status: 0, stdout: '' }, stderr);
    t.strictSame(files().sort(), ['day=2026-03-14/over.csv', 'day=2026-03-15/%4Cate%2Fat%20night.csv']);
    t.equal(eots('day=2026-03-14/over.csv').length, 3);
    t.match(stderr, /\n2 sessions with 4 events written to .*--since \d{4}-.*Z\.\n$/);
    // What was there is replaced.
    store('2026-03-16T10:00Z', 'over', '2026-03-16T09:00:00Z');
    await exportMany('--since', '2026-03-16T10:00Z');
    t.equal(eots('day=2026-03-14/over.csv').length, 4);
    t.equal(files().length, 3);
  },
);

t.test('--day is what was received on a day in local time', async (t) => {
  const { store, exportMany, files } = box(t);
  store('2026-03-13T22:59:59.999Z', 'before', '2026-03-14T12:00:00Z');
  store('2026-03-13T23:00Z', 'first', '2026-03-14T12:00:00Z');
  store('2026-03-14T22:59:59.999Z', 'last', '2026-03-14T12:00:00Z');
  store('2026-03-14T23:00Z', 'after', '2026-03-14T12:00:00Z');
  t.match(await exportMany('--day', '2026-03-14', '--format', 'csv'), { status: 0 });
  t.strictSame(files().sort(), ['day=2026-03-13/first.csv', 'day=2026-03-14/last.csv']);
});

t.test('nothing is made if no event was received in that time', async (t) => {
  const { store, exportMany, lake } = box(t);
  store('2026-03-14T10:00Z', 's', '2026-03-14T09:59:00Z');
  t.match(await exportMany('--since', '2026-03-15'), { status: 0, stderr: /^No session received/ });
  t.notOk(fs.existsSync(lake));
});

t.test('a place that cannot be written is reported, and what is there stays whole', async (t) => {
  const { store, exportMany, lake } = box(t);
  store('2026-03-14T10:00Z', 's', '2026-03-14T09:59:00Z');
  const all = ['--since', '2000-01-01'];
  t.match(await exportMany(...all, '-o', lake), { status: 1, stderr: /There is no directory .*lake\. / });
  t.match(await exportMany(...all, '-o', `${lake}/no/`), { status: 1, stderr: /no such file or directory/ });
  fs.writeFileSync(lake, 'a file');
  t.match(await exportMany(...all), { status: 1, stderr: /^courtd: [^\n]+\n$/ });
  t.match(await exportMany(...all, '-o', lake), { status: 1, stderr: /is not a directory/ });
  fs.rmSync(lake);
  fs.mkdirSync(lake);
  fs.writeFileSync(path.join(lake, 'day=2026-03-14'), 'a file');
  t.match(await exportMany(...all), { status: 1, stderr: /^courtd: Cannot write to [^\n]+\n$/ });
});

t.test('a session_id comes back from its file name, whatever the other sessions are called', (t) => {
  const ids = ['match-17', 'Match-17', 'a/b', 'a%2Fb', '..', '.x', '-o', 'é', 'e\u0301', '日本', '🎾', 'x~y'];
  const names = ids.map(fileNameOf);
  t.equal(names[0], 'match-17');
  t.strictSame(names.map(decodeURIComponent), ids);
  for (const long of ['x'.repeat(256), '🎾'.repeat(256), `${'x'.repeat(255)}y`]) names.push(fileNameOf(long));
  t.equal(new Set(names.map((name) => name.toLowerCase())).size, names.length, 'on every file system');
  for (const name of names) {
    t.match(name, /^(?:[a-z0-9_]|%[0-9A-F]{2})(?:[a-z0-9_.-]|%[0-9A-F]{2})*(?:~[0-9a-f]{16})?$/);
    t.ok(name.length <= 100);
  }
  t.end();
});

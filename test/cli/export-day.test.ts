import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import t from 'tap';
import { fileNames } from '../../src/session/export/fileNames.ts';
import { BIN, cleanEnvironment, courtd, Daemon, run, start, temporaryFolder } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { csvObjects } from '../harness/rfc4180.ts';

runInProcess();

const daemon = await Daemon.start(t);

async function store(session_id: string, ...eots: string[]): Promise<void> {
  const response = await daemon.post(eots.map((eot) => event({ session_id, event_id: eot, eot })));
  if (response.status !== 202) throw new Error(await response.text());
}

await store('before', '2026-03-13T22:00:00Z', '2026-03-13T22:59:59.999999999Z');
await store('over midnight', '2026-03-13T22:30:00Z', '2026-03-13T23:00:00Z');
await store('../noon', '2026-03-14T11:00:00Z');
await store('until next', '2026-03-14T22:59:59.999999999Z', '2026-03-15T01:00:00Z');
await store('always', '2026-03-01T00:00:00Z', '2026-03-14T12:00:00Z', '2026-04-01T00:00:00Z');
await store('around', '2026-03-01T00:00:00Z', '2026-04-01T00:00:00Z');
await store('after', '2026-03-14T23:00:00Z');

function exportDay(...args: string[]) {
  return courtd(['export', '--data', daemon.data, ...args], { TZ: 'Europe/Berlin' });
}

t.test(
  'a file for each session that has an event on the day, whole, and no name leads elsewhere',
  async (t) => {
    const folder = temporaryFolder(t);
    const place = path.join(folder, 'day/');
    const { status, stdout, stderr } = await exportDay('--day', '2026-03-14', '-o', place);
    t.strictSame({ status, stdout }, { status: 0, stdout: '' }, stderr);
    t.strictSame(fs.readdirSync(folder), ['day']);
    const names = ['%2E.%2Fnoon.csv', 'always.csv', 'over%20midnight.csv', 'until%20next.csv'];
    t.strictSame(fs.readdirSync(place).sort(), names);
    const eots = (name: string) =>
      csvObjects(fs.readFileSync(path.join(place, name), 'utf8')).map(({ eot }) => eot);
    t.strictSame(eots('over%20midnight.csv'), ['2026-03-13T22:30:00Z', '2026-03-13T23:00:00Z']);
    t.equal(eots('always.csv').length, 3);
    const said = stderr.split('\n').slice(0, -1);
    t.equal(said.length, 5);
    t.match(
      said.slice(0, 4),
      said
        .slice(0, 4)
        .map(() => /^\d events? written to .*\/day\/[^/]+\.csv; as_of seq \d+, [-\d]+T[:.\d]+Z\.$/),
    );
    t.equal(said[4], `4 sessions of 2026-03-14 with 8 events written to ${place}.`);

    t.test('again into a directory that is there, with the other options of export', async (t) => {
      const options = ['--format', 'ndjson', '--court', 'court-1', '--current', '--with-received'];
      t.match(await exportDay('--day', '2026-03-13', '-o', folder, ...options), { status: 0, stdout: '' });
      t.strictSame(fs.readdirSync(folder).sort(), ['before.ndjson', 'day', 'over%20midnight.ndjson']);
    });
  },
);

t.test('whoever no longer takes its words stops no export', async (t) => {
  const args = (folder: string) => [
    BIN,
    'export',
    '--day',
    '2026-03-14',
    '-o',
    folder,
    '--data',
    daemon.data,
  ];
  const env = cleanEnvironment({ TZ: 'Europe/Berlin' });
  const [full, gone] = [temporaryFolder(t), temporaryFolder(t)];
  t.match(await run('/bin/sh', ['-c', 'exec "$0" "$@" 2>/dev/full', ...args(full)], { env }), { status: 0 });
  const [program, ...rest] = args(gone);
  const child = start(program!, rest, { env });
  child.stderr.destroy();
  t.strictSame(await once(child, 'exit'), [0, null]);
  for (const folder of [full, gone]) t.equal(fs.readdirSync(folder).length, 4);
});

t.test('nothing is made where there is nothing to write', async (t) => {
  const folder = temporaryFolder(t);
  const none = await exportDay('--day', '2025-03-14', '-o', path.join(folder, 'day/'));
  t.strictSame(none, { status: 0, stdout: '', stderr: 'No session has an event on 2025-03-14.\n' });
  const court = await exportDay('--day', '2026-03-13', '--court', 'none', '-o', path.join(folder, 'day/'));
  t.match(court, { status: 0, stdout: '', stderr: 'No event matched in the 2 sessions of 2026-03-13.\n' });
  t.strictSame(fs.readdirSync(folder), []);
});

t.test('a place that is no directory is told in a sentence, and nothing is written', async (t) => {
  const folder = temporaryFolder(t);
  fs.writeFileSync(path.join(folder, 'file'), '');
  for (const [place, sentence] of [
    ['file', /file is not a directory: /],
    ['none', /There is no directory .*none: end its name in \//],
    ['no/ne/', /Cannot write to .*no\/ne\/: no such file or directory/],
  ] as const) {
    const result = await exportDay('--day', '2026-03-14', '-o', `${folder}/${place}`);
    t.match(result, { status: 1, stdout: '', stderr: /^courtd: [^\n]+\n$/ });
    t.match(result.stderr, sentence);
  }
  t.strictSame(fs.readdirSync(folder), ['file']);
});

t.test('every session_id is a file name of its own, on any file system', async (t) => {
  const ids = [
    ...[
      'match-17',
      'Finale Müller',
      '日本',
      '🎾',
      '.',
      '..',
      '.hidden',
      '-o',
      'a/b',
      'a\\b',
      'a%2Fb',
      'C:',
      'x*?"<>|',
    ],
    ...['case', 'Case', 'CASE', 'é', 'e\u0301', 'É', '\u202eabc', 'x~y'],
    ...['ΟΔΟΣ', 'οδοσ', 'οδος', '\u00b5', '\u03bc', '\u017ft', 'st'],
    ...['a', 'b'].map((end) => `${'long '.repeat(50)}${end}`),
    ...['🎾', '日', 'x'].map((character) => character.repeat(256)),
  ];
  const files = fileNames(ids);
  t.strictSame([...files.keys()], ids);
  t.equal(files.get('match-17'), 'match-17');
  t.equal(files.get('日本'), '日本');
  const folded = [...files.values()].map((name) => name.normalize('NFC').toLowerCase().toUpperCase());
  t.equal(new Set(folded).size, ids.length, 'also where upper and lower case are one');
  for (const name of files.values()) {
    t.match(name, /^[\p{L}\p{N}_%][\p{L}\p{N}_.%~-]*$/u);
    t.ok(Buffer.byteLength(name) <= 100, name);
    t.notMatch(name, /%(?![0-9A-F]{2})/, 'no code is cut');
  }
  t.end();
});

t.test('a session that a prune deletes meanwhile is left out, and all others are written', async (t) => {
  const eots = Array.from({ length: 500 }, (_, i) => `2026-05-01T10:00:00.${String(i).padStart(3, '0')}Z`);
  for (const session of ['written last', 'gone', 'written first']) await store(session, ...eots);
  const place = temporaryFolder(t);
  const pipe = path.join(place, 'written%20first.csv');
  t.equal((await run('mkfifo', [pipe])).status, 0);
  const child = start(BIN, ['export', '--data', daemon.data, '--day', '2026-05-01', '-o', place], {
    env: cleanEnvironment({ TZ: 'UTC' }),
  });
  const exit = once(child, 'exit');
  // It waits for its reader, in the middle of a file that is larger than what a pipe holds.
  const reader = await fs.promises.open(pipe, 'r');
  const db = new Database(path.join(daemon.data, 'courtd.db'));
  db.exec(`DELETE FROM event WHERE session = (SELECT id FROM session WHERE name = 'gone');
           UPDATE session SET events = 0 WHERE name = 'gone'`);
  db.close();
  t.equal(csvObjects(await reader.readFile('utf8')).length, 500);
  await reader.close();
  t.strictSame(await exit, [0, null]);
  t.strictSame(fs.readdirSync(place).sort(), ['written%20first.csv', 'written%20last.csv']);
});

import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { courtd, temporaryFolder } from '../harness/daemon.ts';
import { event, eventText } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { Committer, court, type StoppedBox, scratch } from '../harness/scratchStore.ts';

runInProcess();

type Sent = Parameters<typeof court>[0];

const at = (seconds: number) => new Date(Date.UTC(2026, 2, 14) + seconds * 1000).toISOString();
const named = (player_id: unknown, overrides: Record<string, unknown>) =>
  event({ type: 'BALL_HIT', ...overrides, payload: { player_id } }) as Sent;

/** @returns a stopped box with these events, in the order of arrival. */
function boxOf(t: Parameters<typeof scratch>[0], sent: readonly Sent[]): StoppedBox {
  const { folder: data, db } = scratch(t);
  const committer = new Committer(db);
  for (let i = 0; i < sent.length; i += 500) committer.append(...court(...sent.slice(i, i + 500)));
  db.close();
  return { data, command: (...args) => courtd([...args, '--data', data]) };
}

const position = { type: 'PLAYER_POSITION' };
const anna = [
  named('anna', { session_id: 'm1', eot: at(30), ...position }),
  named('anna', { session_id: 'm2', eot: '2026-03-14T01:00:20+01:00' }),
  named('anna', { session_id: 'm1', eot: at(10) }),
  named('anna', { session_id: 'm2', eot: at(20) }),
];
const corrected = { ...anna[2]!, revision: 1 } as Sent;

t.test('players: who is named in payload.player_id, over all sessions', async (t) => {
  const text = (payload: string) =>
    JSON.parse(eventText({ payload }, { session_id: 'm3', eot: at(5) })) as Sent;
  const { folder: data, db } = scratch(t);
  const committer = new Committer(db);
  committer.append(...court(...anna, corrected, named('bea\u001b[31m', { session_id: 'm1', eot: at(40) })));
  // As text: a value would lose the digits and the escapes.
  const payloads = [
    '{"pl\\u0061yer_id":"c\\u00e9"}',
    '{"player_id":12345678901234567890}',
    '{"player_id":7.0}',
  ];
  const nobody = [
    '{"player_id":null}',
    '{"player_id":["anna"]}',
    '{"note":"player_id"}',
    '{"near":{"player_id":"anna"}}',
  ];
  for (const payload of [...payloads, ...nobody]) {
    committer.append(...court(text(payload)).map((one) => ({ ...one, payload })));
  }
  db.close();
  const command = (...args: string[]) => courtd(['player', ...args, '--data', data]);
  const three = { sessions: 1, events: 1, first_eot: at(5), last_eot: at(5) };
  const all = [
    { player_id: 'bea\u001b[31m', sessions: 1, events: 1, first_eot: at(40), last_eot: at(40) },
    { player_id: 'anna', sessions: 2, events: 5, first_eot: at(10), last_eot: at(30) },
    { player_id: '12345678901234567890', ...three },
    { player_id: '7.0', ...three },
    { player_id: 'cé', ...three },
  ];

  t.test(
    'list: the one with the latest event first; every revision counts; a number by its digits',
    async (t) => {
      const { status, stdout, stderr } = await command('list', '--json');
      t.strictSame({ status, stderr, list: JSON.parse(stdout) }, { status: 0, stderr: '', list: all });
    },
  );

  t.test('list for people: a player a line, control characters shown', async (t) => {
    const { stdout } = await command('list');
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/ +/));
    t.strictSame(lines[0], Object.keys(all[0]!));
    t.strictSame(lines[2], Object.values(all[1]!).map(String));
    t.notMatch(stdout, '\u001b');
  });

  t.test(
    'export: his events by eot, then by arrival, over all sessions, as an export has them',
    async (t) => {
      const { status, stdout, stderr } = await command('export', 'anna');
      const order = [anna[2]!, corrected, anna[1]!, anna[3]!, anna[0]!];
      t.equal(status, 0);
      t.match(stderr, /^5 events written; as_of seq \d+, 20\S+Z\.\n$/);
      t.strictSame(
        stdout
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line)),
        order,
      );
      const session = await courtd(['export', 'm2', '--format', 'ndjson', '--data', data]);
      t.strictSame(stdout.split('\n').slice(2, 4), session.stdout.trimEnd().split('\n'));
    },
  );

  t.test('export -o: a file that appears when it is complete', async (t) => {
    const file = path.join(temporaryFolder(t), 'anna.ndjson');
    const { stdout, stderr } = await command('export', 'anna', '-o', file);
    t.equal(stdout, '');
    t.match(stderr, `5 events written to ${file}; as_of seq `);
    t.equal(fs.readFileSync(file, 'utf8'), (await command('export', 'anna')).stdout);
  });

  t.test('nobody of that name: said, and nothing is written', async (t) => {
    const file = path.join(temporaryFolder(t), 'none.ndjson');
    const { status, stdout, stderr } = await command('export', 'Anna', '-o', file);
    t.strictSame({ status, stdout }, { status: 1, stdout: '' });
    t.match(stderr, 'No event names a player "Anna"');
    t.notOk(fs.existsSync(file));
  });
});

t.test('list for people: a long id is cut, and --json has it whole; an empty one names nobody', async (t) => {
  const long = `p-${'x'.repeat(5_000)}`;
  const box = boxOf(t, [named(long, { eot: at(2) }), named('', { eot: at(1) })]);
  const lines = (await box.command('player', 'list')).stdout.split('\n');
  t.match(lines, [/^player_id {2,}/, /^p-x{37}~ +1 /, '']);
  const ids = JSON.parse((await box.command('player', 'list', '--json')).stdout);
  t.match(ids, [{ player_id: long }]);
  t.equal(ids.length, 1);
});

t.test('no player at all: an empty array, or a sentence', async (t) => {
  const box = boxOf(t, [event() as Sent]);
  t.equal((await box.command('player', 'list', '--json')).stdout, '[]\n');
  const { status, stdout, stderr } = await box.command('player', 'list');
  t.strictSame({ status, stdout }, { status: 0, stdout: '' });
  t.equal(stderr, 'No stored event names a player.\n');
});

t.test('an event that is damaged is left out and named, and the exit status is 1', async (t) => {
  const { folder: data, db } = scratch(t);
  new Committer(db).append(...court(...anna));
  db.exec('UPDATE event SET payload = \'{"player_id":"anne"}\' WHERE seq = 1');
  db.close();
  const command = (...args: string[]) => courtd(['player', ...args, '--data', data]);
  const list = await command('list', '--json');
  t.strictSame(
    [list.status, JSON.parse(list.stdout).map(({ events }: { events: number }) => events)],
    [1, [3]],
  );
  const exported = await command('export', 'anna');
  t.strictSame([exported.status, exported.stdout.trimEnd().split('\n').length], [1, 3]);
  for (const { stderr } of [list, exported])
    t.match(stderr, /Damaged in the database, and left out: event .* seq 1\)/);
});

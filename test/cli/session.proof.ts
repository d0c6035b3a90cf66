import t from 'tap';
import { DataDirectory } from '../../src/base/dataDirectory.ts';
import { openDatabase } from '../../src/store/db/openDatabase.ts';
import { sessionCounter } from '../../src/store/db/sessionCounter.ts';
import { courtd, temporaryFolder } from '../harness/daemon.ts';

t.test('two hundred thousand sessions are listed, for people and for programs', async (t) => {
  const count = 200_000;
  const data = temporaryFolder(t);
  await courtd(['token', 'rotate', '--data', data]);
  const db = openDatabase(new DataDirectory(data));
  db.pragma('synchronous = OFF');
  db.exec(`
    INSERT INTO origin VALUES (1, 'venue-1', 'court-1', 'camera-1', 'BALL_HIT', '1.0');
    WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
      INSERT INTO session (id, name) SELECT i, 'session-' || i FROM n;
    INSERT INTO event SELECT id, id, 'e', 0, 1773500966535000000, '2026-03-14T15:09:26.535Z', 1, 0.97, 1773500966600, 0, '{}', NULL, NULL FROM session;`);
  db.transaction(sessionCounter(db))();
  db.close();
  const list = (...args: string[]) => courtd(['session', 'list', ...args, '--data', data]);
  const { status, stdout, stderr } = await list('--json');
  t.match({ status, stderr }, { status: 0, stderr: '' });
  const sessions = JSON.parse(stdout);
  t.equal(sessions.length, count);
  t.strictSame(sessions[0], {
    session_id: `session-${count}`,
    events: 1,
    first_eot: '2026-03-14T15:09:26.535Z',
    last_eot: '2026-03-14T15:09:26.535Z',
    duplicates: 0,
    conflicts: 0,
  });
  t.equal(sessions.at(-1).session_id, 'session-1');
  const people = await list();
  t.match({ status: people.status, stderr: people.stderr }, { status: 0, stderr: '' });
  t.equal(people.stdout.trimEnd().split('\n').length, count + 1);
  t.strictSame(JSON.parse((await list('--last', '1500', '--json')).stdout), sessions.slice(0, 1500));
});

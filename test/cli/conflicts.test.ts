import { Type } from '@sinclair/typebox';
import { Ajv } from 'ajv';
import t from 'tap';
import { sideBySide } from '../../src/cli/terminal/sideBySide.ts';
import { besideDaemon, courtd, temporaryFolder } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { Committer, court, scratch } from '../harness/scratchStore.ts';

runInProcess();

const isList = new Ajv().compile(
  Type.Array(
    Type.Object(
      {
        session_id: Type.String(),
        event_id: Type.String(),
        revision: Type.Integer({ minimum: 0 }),
        source: Type.String(),
        times: Type.Integer({ minimum: 1 }),
        last_at: Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$' }),
        stored: Type.Object({}),
        other: Type.Union([Type.Object({}), Type.Null()]),
      },
      { additionalProperties: false },
    ),
  ),
);

t.test('conflicts: what is stored beside what came last, of one session and of all', async (t) => {
  const folder = temporaryFolder(t);
  const { db } = scratch(t, folder);
  const store = new Committer(db);
  const [a, b] = [event({ session_id: 'a', event_id: 'e-a' }), event({ session_id: 'b', revision: 3 })];
  const none = await courtd(['conflicts', '--json', '--data', folder]);
  t.strictSame(none, { status: 0, stdout: '[]\n', stderr: '' });
  store.append(...court(a, b));
  const other = { ...a, payload: { x_ft: 12.75, y_ft: -3.25, is_in: true } };
  store.append(...court({ ...b, confidence: 0.5 }, other));
  const { status, stdout, stderr } = await courtd(['conflicts', '--json', '--data', folder]);
  t.match({ status, stderr }, { status: 0, stderr: '' });
  const found = JSON.parse(stdout);
  t.ok(isList(found), JSON.stringify(isList.errors));
  t.match(found, [
    { session_id: 'a', event_id: 'e-a', revision: 0, source: a.source, times: 1, stored: a, other },
    { session_id: 'b', revision: 3, other: { confidence: 0.5 } },
  ]);
  t.strictSame(found[0].other, other);
  const text = (await courtd(['conflicts', 'a', '--data', folder])).stdout;
  t.match(
    text,
    /^e-a of a, revision 0\n {2}from camera-1 on court-1; came again once with different content, last/,
  );
  t.match(text, /\n {2}payload\.x_ft {2}12\.5 {4}12\.75\n\n$/);
  t.match(await courtd(['conflicts', 'none', '--data', folder]), {
    status: 1,
    stderr: /^courtd: There is no session "none"/,
  });
});

t.test('a conflict whose copy an erasure took is told as that, and not as an older one', async (t) => {
  const { folder: data, db } = scratch(t);
  const sent = event({ session_id: 'a', type: 'BALL_HIT', payload: { player_id: 'anna-17' } });
  new Committer(db).append(...court(sent, { ...sent, confidence: 0.5 }));
  db.close();
  t.match(await besideDaemon(t, data, 'player', 'erase', 'anna-17', '--yes'), { status: 0 });
  const { stderr } = await courtd(['conflicts', '--data', data]);
  t.match(stderr, /an erasure, .*: 1\.\n$/);
});

t.test('beside each other: only the fields that differ, digit for digit, long ones cut', (t) => {
  const json = (fields: string) => `{"event_id":"e",${fields}}`;
  t.strictSame(
    sideBySide(
      json('"confidence":1,"payload":{"a":1.0,"n":12345678901234567890,"list":[1,2.50]}'),
      json('"confidence":1,"payload":{"a":1.0,"n":12345678901234567891,"list":[1,2.5]},"more":"x"'),
    ),
    [
      '              stored                other',
      'payload.n     12345678901234567890  12345678901234567891',
      'payload.list  [1,2.50]              [1,2.5]',
      'more          -                     "x"',
    ],
  );
  const long = 'x'.repeat(300);
  t.match(sideBySide(json('"eot":"a"'), json(`"eot":"${long}"`)), [
    /stored +other/,
    /^eot {2}"a" {5}"x{58}~$/,
  ]);
  t.end();
});

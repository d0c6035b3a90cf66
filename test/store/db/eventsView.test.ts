import t from 'tap';
import { REVISION_MAX } from '../../../src/base/limits.ts';
import { COLUMNS } from '../../../src/session/export/columns.ts';
import { event, events } from '../../harness/events.ts';
import { Committer, court, scratch } from '../../harness/scratchStore.ts';

/** The view `events`, as a SQLite shell shows it. */

const FIELDS = ['x_ft', 'y_ft', 'is_in', 'kmh', 'player_id', 'shot_type', 'swing_type'];
const NONE = Object.fromEntries(FIELDS.map((name) => [name, null]));

t.test('it has the columns of the CSV, the seq and the instant, under readable names', (t) => {
  const { db } = scratch(t);
  const sent = event({ revision: 3, frame: 7 });
  new Committer(db).append(...court(sent));
  const row = db.prepare<[], Record<string, unknown>>('SELECT * FROM events').get()!;
  t.strictSame(Object.keys(row).sort(), [...COLUMNS.map(({ name }) => name), 'seq', 'eot_ns'].sort());
  const { payload, frame: _, ...names } = { frame: 7, ...sent };
  const own = { seq: 1, eot_ns: 1_773_500_966_535_000_000, current: 1, erased: 0, extra: '{"frame":7}' };
  const fields = { ...NONE, x_ft: 12.5, y_ft: -3.25, is_in: 1 };
  const received_at = /^\d{4}-\d\d-\d\dT[\d:.]{12}Z$/;
  t.match(row, { ...names, ...own, ...fields, payload: JSON.stringify(payload), received_at });
  t.end();
});

t.test('it says which revision is current, in memory or flushed, whatever the order of arrival', (t) => {
  const { db } = scratch(t);
  const committer = new Committer(db);
  const [a, b] = [event({ event_id: 'a' }), event({ event_id: 'b' })];
  // Another session has the same event_ids.
  const other = { ...a, session_id: 'other', revision: 2 };
  committer.append(...court({ ...a, revision: REVISION_MAX - 1 }, a, b, other));
  committer.sealAll();
  committer.append(...court({ ...a, revision: REVISION_MAX }, { ...a, revision: 2 ** 32 }));
  committer.append(...court({ ...b, revision: 1 }));
  const marks = db.prepare('SELECT event_id, revision FROM events WHERE current ORDER BY seq').raw().all();
  t.strictSame(marks, [
    ['a', 2],
    ['a', REVISION_MAX],
    ['b', 1],
  ]);
  t.end();
});

t.test('it has the fields of each payload, whatever that holds', (t) => {
  const { db } = scratch(t);
  const payloads: [payload: string | null, fields: object][] = [
    ['{"x_ft":-1e3,"y_ft":7,"is_in":false,"kmh":214.5}', { x_ft: -1000, y_ft: 7, is_in: 0, kmh: 214.5 }],
    [
      '{"player_id":"007","shot_type":"\\u00e9","swing_type":""}',
      { player_id: '007', shot_type: 'é', swing_type: '' },
    ],
    // Of another type: a number in place of a text is its digits.
    [
      '{"x_ft":"1","y_ft":[1],"is_in":1,"kmh":{},"player_id":1.50,"shot_type":true}',
      { player_id: '1.50', shot_type: 'true' },
    ],
    ['{"player_id":{"x":1},"shot_type":[],"is_in":"true","kmh":true,"player":{"x_ft":1}}', {}],
    // Damaged.
    ...[null, '', 'x', '{"x_ft":1', '[1]', '7', '{"x_ft":1}}', '['.repeat(20_000)].map(
      (payload): [string | null, object] => [payload, {}],
    ),
  ];
  new Committer(db).append(...court(...events(payloads.length)));
  const change = db.prepare('UPDATE event SET payload = ? WHERE seq = ?');
  for (const [i, [payload]] of payloads.entries()) change.run(payload, i + 1);
  const rows = db.prepare(`SELECT ${FIELDS} FROM events ORDER BY seq`).all();
  t.strictSame(
    rows,
    payloads.map(([, fields]) => ({ ...NONE, ...fields })),
  );
  t.end();
});

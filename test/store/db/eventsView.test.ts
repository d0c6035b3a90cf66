import t from 'tap';
import { REVISION_MAX } from '../../../src/base/limits.ts';
import { COLUMNS } from '../../../src/session/export/columns.ts';
import { event, events } from '../../harness/events.ts';
import { Committer, court, scratch } from '../../harness/scratchStore.ts';

t.test('the view events shows readable names in a SQLite shell', (t) => {
  const { db } = scratch(t);
  const [plain, more] = [event({ session_id: 's' }), event({ session_id: 's', revision: 3, frame: 7 })];
  const before = Date.now();
  new Committer(db).append(...court(plain, more));
  const rows = db.prepare<[], Record<string, unknown>>('SELECT * FROM events').all();
  rows.forEach(({ received_at, ...row }, i) => {
    const { payload, frame: _, ...names } = { frame: 7, ...[plain, more][i]! };
    const extra = i === 0 ? null : '{"frame":7}';
    const fields = {
      x_ft: 12.5,
      y_ft: -3.25,
      is_in: 1,
      kmh: null,
      player_id: null,
      shot_type: null,
      swing_type: null,
    };
    const added = { current: 1, eot_ns: 1_773_500_966_535_000_000, ...fields };
    t.strictSame(row, { seq: i + 1, ...names, ...added, payload: JSON.stringify(payload), extra, erased: 0 });
    t.ok(Date.parse(String(received_at)) >= before && /^\d{4}-.*T.*\.\d{3}Z$/.test(String(received_at)));
  });
  t.equal(rows.length, 2);
  const names = [...COLUMNS.map(({ name }) => name), 'seq', 'eot_ns'];
  t.strictSame(Object.keys(rows[0] ?? {}).sort(), names.sort(), 'the columns of the CSV, and two');
  t.end();
});

t.test(
  'the view events says which revision is current, in memory or flushed, whatever the order of arrival',
  (t) => {
    const { db } = scratch(t);
    const committer = new Committer(db);
    const [a, b] = [event({ event_id: 'a' }), event({ event_id: 'b' })];
    // Another session has the same event_ids.
    const other = { ...a, session_id: 'other', revision: 2 };
    committer.append(...court({ ...a, revision: REVISION_MAX - 1 }, a, b, other));
    committer.sealAll();
    committer.append(
      ...court({ ...a, revision: REVISION_MAX }, { ...a, revision: 2 ** 32 }, { ...b, revision: 1 }),
    );
    const marks = db.prepare('SELECT event_id, revision, current FROM events ORDER BY seq').raw().all();
    t.strictSame(marks, [
      ['a', REVISION_MAX - 1, 0],
      ['a', 0, 0],
      ['b', 0, 0],
      ['a', 2, 1],
      ['a', REVISION_MAX, 1],
      ['a', 2 ** 32, 0],
      ['b', 1, 1],
    ]);
    const current = db
      .prepare("SELECT count(*) FROM events WHERE current AND session_id = 'session-1'")
      .pluck();
    t.equal(current.get(), 2);
    t.end();
  },
);

t.test('the view events has the fields of each payload, whatever it holds', (t) => {
  const { db } = scratch(t);
  const payloads: [payload: string, fields: object][] = [
    ['{"x_ft":-1e3,"y_ft":7,"is_in":false,"kmh":214.5}', { x_ft: -1000, y_ft: 7, is_in: 0, kmh: 214.5 }],
    [
      '{"player_id":"007","shot_type":"\\u00e9 \\"x\\"","swing_type":""}',
      { player_id: '007', shot_type: 'é "x"', swing_type: '' },
    ],
    ['{"x_ft":null,"is_in":null,"player_id":null}', {}],
    // Of another type: a number in place of a text is its digits.
    [
      '{"x_ft":"1","y_ft":[1],"is_in":1,"kmh":{},"player_id":1.50,"shot_type":true}',
      { player_id: '1.50', shot_type: 'true' },
    ],
    ['{"player_id":{"x":1},"shot_type":[],"is_in":"true","kmh":true}', {}],
    ['{"player":{"x_ft":1}}', {}],
    // Damaged.
    ...['', 'x', '{"x_ft":1', '[1]', '7', '"x_ft"', '{"x_ft":1}}', '['.repeat(20_000)].map(
      (payload): [string, object] => [payload, {}],
    ),
  ];
  const committer = new Committer(db);
  committer.append(...court(...events(payloads.length + 1)));
  const change = db.prepare('UPDATE event SET payload = ? WHERE seq = ?');
  for (const [i, [payload]] of payloads.entries()) change.run(payload, i + 1);
  change.run(null, payloads.length + 1);
  const names = ['x_ft', 'y_ft', 'is_in', 'kmh', 'player_id', 'shot_type', 'swing_type'];
  const none = Object.fromEntries(names.map((name) => [name, null]));
  const rows = db.prepare(`SELECT ${names} FROM events ORDER BY seq`).all();
  t.equal(rows.length, payloads.length + 1);
  for (const [i, [payload, fields]] of payloads.entries())
    t.strictSame(rows[i], { ...none, ...fields }, payload.slice(0, 80));
  t.strictSame(rows.at(-1), none, 'NULL');
  t.equal(db.prepare('SELECT * FROM events').all().length, rows.length);
  t.end();
});

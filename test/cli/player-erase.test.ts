import t from 'tap';
import { Daemon } from '../harness/daemon.ts';
import { ANNA, BEA, eraseAnna, filesWith, NAME, rally } from '../harness/erasedPlayer.ts';
import { event } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { serveAgain } from '../harness/servingAgain.ts';

runInProcess();
serveAgain();

t.test('an erasure leaves nothing of its player, and loses nothing of the others', async (t) => {
  const daemon = await Daemon.start(t);
  const sent = [...rally('match-1'), ...rally('match-2', 20)];
  await daemon.post(sent);
  const before = await daemon.exported('match-1');
  t.match(await eraseAnna(daemon, '--dry-run'), { dry_run: true, events: 10, emptied: 4, sessions: 2 });
  t.same(await daemon.exported('match-1'), before, 'a dry run changes nothing');
  t.match(await eraseAnna(daemon), { events: 10, emptied: 4, renamed: 6, sessions: 2 });
  for (const text of [ANNA, NAME]) t.same(filesWith(daemon.data, text), []);
  const after = (await daemon.exported('match-1')).map((line) => JSON.parse(line));
  const payloads = after.map(({ payload }) => payload);
  t.match(payloads, [
    {},
    { player_id: BEA },
    {},
    { player_id: BEA, x_ft: 3, y_ft: 4, nearest: /^erased-[a-z0-9]{8}$/ },
    { player_id: /^erased-/, shot_type: 'drive' },
    { player_id: BEA, shot_type: 'lob', from: [/^erased-/] },
    { kmh: 70 },
  ]);
  t.strictSame(payloads[0], {});
  t.equal(after[2].jersey, undefined);
  t.equal(after[5].rally.server, payloads[4].player_id, 'one name in a session');
  const other = (await daemon.exported('match-2')).map((line) => JSON.parse(line));
  t.not(other[4].payload.player_id, payloads[4].player_id, 'another one in the next');
  t.same(
    after.map(({ event_id, eot }) => [event_id, eot]),
    before.map((line) => JSON.parse(line)).map(({ event_id, eot }) => [event_id, eot]),
  );
});

t.test(
  'what arrives later from before the erasure is redacted, and what happens after it is stored as sent',
  async (t) => {
    const daemon = await Daemon.start(t);
    await daemon.post(rally('match-1'));
    await eraseAnna(daemon);
    t.same(await (await daemon.post(rally('match-2'))).json(), { accepted: 7, duplicates: 0 });
    t.same(filesWith(daemon.data, ANNA), []);
    t.match(JSON.parse((await daemon.exported('match-2'))[4]!).payload, {
      player_id: /^erased-/,
      shot_type: 'drive',
    });
    const eot = new Date(Date.now() + 60_000).toISOString();
    await daemon.post(event({ session_id: 'match-3', type: 'BALL_HIT', payload: { player_id: ANNA }, eot }));
    t.same(JSON.parse((await daemon.exported('match-3'))[0]!).payload, { player_id: ANNA });
    // Also by a daemon that has read the ledger at its start.
    t.equal(await daemon.stop(), 0);
    const next = await Daemon.run(t, daemon.data, daemon.token);
    await next.post(rally('match-4'));
    t.notMatch((await next.exported('match-4')).join(), ANNA);
  },
);

t.test('with --before what happened later stays', async (t) => {
  const daemon = await Daemon.start(t);
  await daemon.post([...rally('match-1', 10), ...rally('match-1', 40)]);
  t.match(await eraseAnna(daemon, '--before', '2026-03-14T14:30Z'), {
    events: 5,
    before: '2026-03-14T14:30:00.000Z',
  });
  const lines = await daemon.exported('match-1');
  t.notMatch(lines.slice(0, 7).join(), ANNA);
  t.same(lines.slice(7).filter((line) => line.includes(ANNA)).length, 5);
});

t.test('conflict copies and rejected requests that name him go, the others stay', async (t) => {
  const daemon = await Daemon.start(t);
  const sent = rally('match-1');
  await daemon.post(sent);
  await daemon.post({ ...sent[4], confidence: 0.25 });
  await daemon.post({ ...sent[6], confidence: 0.25 });
  await daemon.post([{ ...sent[4], event_id: 'bad', eot: 'never' }]);
  await daemon.post([{ ...sent[6], event_id: 'bad-too', eot: 'never' }]);
  t.match(await eraseAnna(daemon), { conflict_copies: 1, rejections: 1 });
  t.same(filesWith(daemon.data, ANNA), []);
  const rejections = JSON.parse((await daemon.command('rejections', '--json')).stdout);
  t.equal(rejections.length, 1);
  t.equal(JSON.parse((await daemon.command('conflicts', '--json')).stdout).length, 1);
  const waiting = (await daemon.command('rejections', 'export')).stdout;
  t.match(waiting, 'bad-too');
  t.notMatch(waiting, ANNA);
  t.equal(await daemon.stop(), 0);
  t.same(filesWith(daemon.data, ANNA), []);
});

t.test(
  'where his id is a part of a name or of a longer text it stays, and the receipt says so',
  async (t) => {
    const daemon = await Daemon.start(t);
    const ids = { session_id: `1-${ANNA}`, event_id: `hit-${ANNA}`, source: `cam-${ANNA}` };
    await daemon.post([...rally('match-1'), event({ ...ids, payload: { note: `${ANNA} hits` } })]);
    await eraseAnna(daemon);
    const { stdout } = await daemon.command('player', 'erase', ANNA, '--yes');
    t.match(stdout, /the id inside a longer text stays/i);
    t.match(stdout, 'was erased before');
  },
);

t.test('an id in another spelling, or as a number, is found', async (t) => {
  const daemon = await Daemon.start(t);
  const sent = JSON.stringify(event({ session_id: 's', type: 'BALL_HIT', payload: { player_id: 'PLAYER' } }));
  const spelled = [
    ['p-anna', '"player_id":"p-\\u0061nna"'],
    ['17', '"player_id":17'],
    ['18', '"player\\u005fid":18'],
  ];
  for (const [id, member] of spelled) {
    const text = sent.replace('"player_id":"PLAYER"', member!).replace(/"event_id":"/, `$&${id}`);
    t.equal((await daemon.post(text)).status, 202);
  }
  // A camera's firmware forgets the session: what was refused names him too.
  await daemon.post('{"payload":{"player\\u005fid":18}}');
  const listed = JSON.parse((await daemon.command('player', 'list', '--json')).stdout);
  t.same(listed.map(({ player_id }: { player_id: string }) => player_id).sort(), ['17', '18', 'p-anna']);
  for (const [id] of spelled) {
    const { stdout } = await daemon.command('player', 'erase', id!, '--yes', '--json');
    t.match(JSON.parse(stdout), { events: 1, renamed: 1, rejections: id === '18' ? 1 : 0 });
  }
  const players = (await daemon.exported('s')).map((line) => JSON.parse(line).payload.player_id);
  for (const player of players) t.match(player, /^erased-[a-z0-9]{8}$/);
  t.same(JSON.parse((await daemon.command('player', 'list', '--json')).stdout), []);
});

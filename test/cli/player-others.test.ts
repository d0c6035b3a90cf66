import t from 'tap';
import { Daemon } from '../harness/daemon.ts';
import { erase } from '../harness/erasedPlayer.ts';
import { event } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { serveAgain } from '../harness/servingAgain.ts';

runInProcess();
serveAgain();

/** What an erasure leaves to everybody else. */

const hit = (player_id: string, more: object = {}) =>
  event({ session_id: 's', type: 'BALL_HIT', payload: { player_id, ...more } });

const payloadsOf = async (daemon: Daemon) =>
  (await daemon.exported('s')).map((line) => JSON.parse(line).payload as Record<string, unknown>);

t.test('a player whose id is the word for a stroke takes no stroke of others with him', async (t) => {
  const daemon = await Daemon.start(t);
  const smashes = Array.from({ length: 200 }, () =>
    hit('p-bea', { shot_type: 'smash', swing_type: 'smash' }),
  );
  await daemon.post([hit('smash', { shot_type: 'smash' }), ...smashes]);
  t.match(await erase(daemon, 'smash'), { events: 1, renamed: 1 });
  const [his, ...others] = await payloadsOf(daemon);
  t.match(his, { player_id: /^erased-/, shot_type: 'smash' });
  t.strictSame(
    others,
    smashes.map(({ payload }) => payload),
  );
  // Nor of what comes from before.
  await daemon.post(hit('p-bea', { shot_type: 'smash' }));
  t.strictSame((await payloadsOf(daemon)).at(-1), { player_id: 'p-bea', shot_type: 'smash' });
});

t.test('what was refused, or came again, of a player with a longer id stays', async (t) => {
  const daemon = await Daemon.start(t);
  const [seven, seventy] = [hit('player-7'), hit('player-70', { note: 'behind player-71' })];
  await daemon.post([seven, seventy]);
  for (const sent of [seven, seventy]) {
    await daemon.post({ ...sent, confidence: 0.25 });
    await daemon.post({ ...sent, event_id: 'bad', eot: 'never' });
  }
  t.match(await erase(daemon, 'player-7'), { conflict_copies: 1, rejections: 1 });
  const waiting = (await daemon.command('rejections', 'export')).stdout.trimEnd().split('\n');
  t.strictSame(
    waiting.map((line) => JSON.parse(line).event.payload.player_id),
    ['player-70'],
  );
  const conflicts = JSON.parse((await daemon.command('conflicts', '--json')).stdout);
  t.strictSame(
    conflicts.map((one: { event_id: string }) => one.event_id),
    [seventy.event_id],
  );
});

t.test('nobody has an empty id', async (t) => {
  const daemon = await Daemon.start(t);
  await daemon.post([hit(''), hit('p-bea')]);
  const listed = JSON.parse((await daemon.command('player', 'list', '--json')).stdout);
  t.strictSame(
    listed.map(({ player_id }: { player_id: string }) => player_id),
    ['p-bea'],
  );
  const { status, stderr } = await daemon.command('player', 'erase', '', '--yes');
  t.equal(status, 2);
  t.match(stderr, /'' is invalid for argument 'player'/);
});

t.test(
  'a short id that is a word in names and other texts stays there, and the receipt says so',
  async (t) => {
    const daemon = await Daemon.start(t);
    const named = { session_id: 'anna-vs-bea', source: 'cam of anna' };
    await daemon.post([
      event({ ...named, type: 'BALL_HIT', payload: { player_id: 'anna', note: 'anna serves' } }),
      event({ ...named, event_id: 'anna-1', type: 'BALL_HIT', payload: { player_id: 'joanna' } }),
      event({
        session_id: 'joanna',
        event_id: 'annabel',
        type: 'BALL_HIT',
        payload: { player_id: 'annabel' },
      }),
    ]);
    t.match(await erase(daemon, 'anna'), {
      events: 1,
      mentioned_events: 2,
    });
  },
);

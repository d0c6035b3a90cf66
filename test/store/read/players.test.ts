import t from 'tap';
import { type NamedEvent, PlayerCounts } from '../../../src/store/read/players.ts';
import { scratch } from '../../harness/scratchStore.ts';

t.test('more players and sessions than are counted in memory: the counts are right', async (t) => {
  const [players, sessions] = [100, 100];
  const nameOf = (player: number) => `${player}${'x'.repeat(1_000)}`;
  const counts = new PlayerCounts(scratch(t).db);
  const eot = (second: number) => `${second}`;
  for (let round = 0; round < 2; round++) {
    for (let i = 0; i < players * sessions; i++) {
      const second = round === 0 ? 50_000 - i : 50_000 + i;
      const names = {
        player: nameOf(i % players),
        sessionId: `s${Math.floor(i / players)}`,
        type: 'BALL_HIT',
        payload: '{}',
      };
      // Beyond 32 bits of nanoseconds.
      const at = { eot: eot(second), eotHigh: Math.floor(second / 4), eotLow: second % 4 };
      counts.add([{ ...names, ...at } as NamedEvent]);
    }
  }
  const first = players * (sessions - 1);
  const expected = Array.from({ length: players }, (_, player) => ({
    player_id: nameOf(player),
    sessions,
    events: 2 * sessions,
    first_eot: eot(50_000 - first - player),
    last_eot: eot(50_000 + first + player),
  }));
  t.strictSame([...counts.players()].flat(), expected.reverse());
});

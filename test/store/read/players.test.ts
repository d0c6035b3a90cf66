import t from 'tap';
import { type NamedEvent, PlayerCounts } from '../../../src/store/read/namedPlayers.ts';
import { scratch } from '../../harness/scratchStore.ts';

t.test('players are counted over sessions, the one with the latest event first', async (t) => {
  const counts = new PlayerCounts(scratch(t).db);
  const named = (player: string, sessionId: string, second: number) =>
    // Beyond 32 bits of nanoseconds.
    ({
      player,
      sessionId,
      eot: `${second}`,
      eotHigh: Math.floor(second / 4),
      eotLow: second % 4,
    }) as NamedEvent;
  counts.add([named('a', 's1', 9), named('b', 's1', 8), named('a', 's2', 7), named('b', 's1', 10)]);
  counts.add([named('a', 's1', 5)]);
  t.strictSame(counts.players(), [
    { player_id: 'b', sessions: 1, events: 2, first_eot: '8', last_eot: '10' },
    { player_id: 'a', sessions: 2, events: 3, first_eot: '5', last_eot: '9' },
  ]);
});

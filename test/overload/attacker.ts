import { ATTACKS } from './attacks.ts';
import { giveWay } from './process.ts';
import type { AttackOrder, Tally } from './wire.ts';

/**
 * One attack in a process of its own: `fork(attacker.ts, [JSON])`. It says 'ready' when it is in full swing, and
 * tells what it has been answered since the last time whenever it is sent a message.
 */

const order: AttackOrder = JSON.parse(process.argv[2] ?? '{}');
giveWay(process.pid, 'attacker');
const tally: Tally = {};
process.on('message', () => {
  process.send!(tally);
  for (const what of Object.keys(tally)) delete tally[what];
});
process.on('disconnect', () => process.exit());
await ATTACKS[order.name]!(order.target, tally, order);
process.send!('ready');

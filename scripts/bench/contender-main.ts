import readline from 'node:readline';
import { Child } from './child.ts';
import { CONTENDERS } from './contest.ts';
import { PEERS } from './peers/section.ts';

/**
 * Starts one contender for a program outside the benchmark. argv: its name, its directory, empty or as it left it, and
 * `repair` where that is to be repaired first as its manual says.
 * Prints where to send events, as a line of JSON; then, for every line of input, the ids that it holds, as another. At the end
 * of its input it kills the contender.
 */
process.once('SIGTERM', () => {
  Child.endAll();
  process.exit(1);
});
const [name, directory, repair] = process.argv.slice(2) as [string, string, string?];
const contender = [...CONTENDERS, ...PEERS].find((one) => one.name === name);
if (contender === undefined) throw new Error(`There is no contender "${name}".`);
if (repair !== undefined) {
  if (contender.repair === undefined) throw new Error(`The manual of "${name}" names no repair.`);
  contender.repair(directory);
}
const running = await contender.start(directory);
process.stdout.write(`${JSON.stringify(running.target)}\n`);
for await (const _ of readline.createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify([...(await running.ids!())])}\n`);
}
// This takes PostgreSQL's shared memory away, and writes nothing either.
for (const server of running.servers ?? []) await server.stop('SIGQUIT');
Child.endAll();
process.exit(0);

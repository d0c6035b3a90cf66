import readline from 'node:readline';
import { Child } from './child.ts';
import { CONTENDERS } from './contest.ts';
import { PEERS } from './peers/section.ts';

/**
 * Starts one contender for a program outside the benchmark. argv: its name, and its directory, empty or as it left it.
 * Prints where to send events, as a line of JSON; then, for every line of input, the ids that it holds, as another. At the end
 * of its input it kills the contender.
 */
process.once('SIGTERM', () => {
  Child.endAll();
  process.exit(1);
});
const [name, directory] = process.argv.slice(2) as [string, string];
const contender = [...CONTENDERS, ...PEERS].find((one) => one.name === name);
if (contender === undefined) throw new Error(`There is no contender "${name}".`);
const running = await contender.start(directory);
process.stdout.write(`${JSON.stringify(running.target)}\n`);
for await (const _ of readline.createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify([...(await running.ids!())])}\n`);
}
Child.endAll();
process.exit(0);

import fs from 'node:fs';
import path from 'node:path';
import { Command, Option } from 'commander';
import { integer } from '../../src/cli/options/optionParsers.ts';
import { say } from '../../src/cli/terminal/output.ts';
import { Endings } from '../harness/endings.ts';
import { Attacker } from './actors.ts';
import { Box } from './box.ts';
import { churn } from './churn.ts';
import { printTable } from './report.ts';
import { runScenarios, SCENARIOS } from './scenarios.ts';

/**
 * `npx node test/overload/main.ts`: well-behaved cameras beside everything that can be done to a server, and connections
 * dropped in every rude way. A daemon that an attack ends is started again for the next one. Exit status 1 where a bar is missed.
 */

interface Options {
  readonly seconds: number;
  readonly churnSeconds: number;
  readonly only?: string[];
  readonly dir: string;
}

const { seconds, churnSeconds, only, dir } = new Command('npx node test/overload/main.ts')
  .description('measures what a well-behaved camera notices of clients that are not')
  .addOption(new Option('--seconds <number>', 'of each scenario').default(5).argParser(integer(1, 3600)))
  .addOption(
    new Option('--churn-seconds <number>', 'of churn; 0 for none').default(20).argParser(integer(0, 100_000)),
  )
  .addOption(new Option('--only <name...>', 'these scenarios alone').choices(SCENARIOS))
  .option(
    '--dir <directory>',
    'where the data goes for the time being',
    path.resolve(import.meta.dirname, '../../data'),
  )
  .parse()
  .opts<Options>();

const endings = new Endings();
fs.mkdirSync(dir, { recursive: true });
const data = fs.mkdtempSync(path.join(dir, 'hostile-'));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void end(130));
try {
  const box = await Box.start(endings, data);
  const results = await runScenarios(box, seconds, only);
  if (churnSeconds > 0 && only === undefined) results.push(await churn(box.daemon, churnSeconds));
  const { faults } = box;
  for (const fault of faults) say(`The log says: ${JSON.stringify(fault)}`);
  printTable(results);
  const missed = results.flatMap(({ bars }) => bars).filter(({ isMet }) => !isMet).length + faults.length;
  say(missed === 0 ? 'Every bar is met.' : `${missed} missed.`);
  await end(missed === 0 ? 0 : 1);
} catch (error) {
  say(error instanceof Error ? (error.stack ?? '') : String(error));
  await end(1);
}

async function end(status: number): Promise<never> {
  Attacker.endAll();
  await endings[Symbol.asyncDispose]();
  fs.rmSync(data, { recursive: true, force: true, maxRetries: 10 });
  process.exit(status);
}

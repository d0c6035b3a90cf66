import { OperatorError } from '../../base/operatorError.ts';
import { counted } from '../../base/units.ts';
import { forgetStatus } from '../../fleet/headquarters/boxes.ts';
import { checkFleet } from '../../fleet/headquarters/check.ts';
import { type FleetOptions, withHeadquarters } from '../../fleet/headquarters/connection.ts';
import { makeStreams } from '../../fleet/headquarters/init.ts';
import { readEvents } from '../../fleet/headquarters/readEvents.ts';
import { parseServers } from '../../fleet/nats/address.ts';
import type { OrderOptions } from '../options/orderOptions.ts';
import { checksText } from '../terminal/checksText.ts';
import { LineOutput } from '../terminal/lineOutput.ts';
import { type JsonOption, Progress, printJson, printText, say } from '../terminal/output.ts';
import { tailByEot } from './tailByEot.ts';

/** `courtd fleet init`. */
export async function init(url: string, options: FleetOptions): Promise<void> {
  const { servers } = parseServers(url);
  const made = await withHeadquarters(url, options, (nc) =>
    makeStreams(nc, servers.length, (sentence) => say(`courtd: ${sentence}`)),
  );
  for (const { name, outcome, replicas } of made) {
    printText(`${name}: ${outcome}, ${counted(replicas, 'copy', 'copies')}\n`);
  }
}

interface CheckOptions extends FleetOptions, JsonOption {
  readonly monitor?: readonly string[];
}

/** `courtd fleet check`. Exit status 1 where one fails. */
export async function check(url: string, { json, monitor = [], ...options }: CheckOptions): Promise<void> {
  const progress = new Progress();
  const results = await withHeadquarters(url, options, (nc) =>
    checkFleet(nc, monitor, (chunks) => progress.show(() => `${chunks} chunks read`)),
  );
  progress.clear();
  if (results.some(({ level }) => level === 'fail')) process.exitCode = 1;
  if (json) printJson(results);
  else printText(checksText(results));
}

/** `courtd fleet retire`: for a box that ships no more, so that it is not silent for ever in `fleet status`. */
export async function retire(
  url: string,
  { box, ...options }: FleetOptions & { readonly box: string },
): Promise<void> {
  if (!(await withHeadquarters(url, options, (nc) => forgetStatus(nc, box)))) {
    throw new OperatorError(
      `No status of a box ${box} is here: "courtd fleet status" shows which boxes there are.`,
    );
  }
  printText(`${box}: retired, its events stay\n`);
}

interface FleetTailOptions extends FleetOptions, OrderOptions {
  readonly box?: string;
  readonly after?: number;
}

/** `courtd fleet tail`: ends when it has given what was there when it began, or never. */
export function tail(url: string, options: FleetTailOptions): Promise<void> {
  const { box, after = 0, follow = false, order } = options;
  const print = async (nc: Parameters<typeof readEvents>[0]) => {
    const output = new LineOutput();
    const chunks = readEvents(nc, { box, after, follow });
    if (order === 'eot') return tailByEot(chunks, output, options);
    for await (const lines of chunks) await output.write(lines);
  };
  return withHeadquarters(url, options, print, follow);
}

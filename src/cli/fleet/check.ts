import { checkFleet } from '../../fleet/headquarters/check.ts';
import { checksText } from '../terminal/checksText.ts';
import { type JsonOption, Progress, printJson, printText } from '../terminal/output.ts';
import { type FleetOptions, withHeadquarters } from './headquarters.ts';

export interface CheckOptions extends FleetOptions, JsonOption {
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

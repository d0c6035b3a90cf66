import { OperatorError } from '../../base/operatorError.ts';
import { forgetStatus } from '../../fleet/headquarters/boxes.ts';
import { printText } from '../terminal/output.ts';
import { type FleetOptions, withHeadquarters } from './headquarters.ts';

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

import path from 'node:path';
import { Child } from '../child.ts';

const PROGRAM = path.join(import.meta.dirname, '../../../test/powercut/anyServer.ts');

/** What a contender was found to have lost. */
export interface PowerCuts {
  readonly cuts: number;
  /** Events that it had acknowledged by some cut, and did not have after it, at the worst cut. */
  readonly lost: number;
  /** Cuts after which it did not start. */
  readonly dead: number;
}

/** Cuts the power of a contender at random writes (test/powercut). @param name of the contender. */
export async function powerCuts(name: string, cuts: number): Promise<PowerCuts> {
  return JSON.parse(await new Child(process.execPath, [PROGRAM, name, String(cuts)]).output());
}

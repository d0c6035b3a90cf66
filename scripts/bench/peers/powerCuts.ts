import path from 'node:path';
import { Child } from '../child.ts';

const PROGRAM = path.join(import.meta.dirname, '../../../test/powercut/anyServer.ts');

/** What a contender was found to have lost. */
export interface PowerCuts {
  readonly cuts: number;
  /** Events that it had acknowledged by some cut, and did not have after it, at the worst cut. */
  readonly lost: number;
  /** Cuts after which it started only when it had been repaired as its manual says. */
  readonly repaired: number;
  /** Cuts after which it did not start even then. */
  readonly dead: number;
}

/** @returns what this machine lacks for it; undefined where it has all. */
export async function missingForPowerCuts(): Promise<string | undefined> {
  return JSON.parse(await new Child(process.execPath, [PROGRAM]).output()).lacks;
}

/** Cuts the power of a contender at random writes (test/powercut). @param name of the contender. */
export async function powerCuts(name: string, cuts: number): Promise<PowerCuts> {
  return JSON.parse(await new Child(process.execPath, [PROGRAM, name, String(cuts)]).output());
}

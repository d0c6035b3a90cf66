import path from 'node:path';
import { Child } from '../child.ts';
import type { Order, Outcome } from './client.ts';

/** The client where wrk is not installed, in a process of its own. */

const MAIN = path.join(import.meta.dirname, 'own-main.ts');

export async function runOwn(order: Order): Promise<Outcome> {
  return JSON.parse(await new Child(process.execPath, [MAIN, JSON.stringify(order)]).output());
}

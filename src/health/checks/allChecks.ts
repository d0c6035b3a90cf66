import type { CheckResult } from '../finding.ts';
import { certificate, token } from './access.ts';
import { backup } from './backup.ts';
import type { Box } from './box.ts';
import { type Check, runCheck } from './check.ts';
import { clock } from './clock.ts';
import { configuration } from './configuration.ts';
import { database } from './database.ts';
import { disk } from './disk.ts';
import { log } from './log.ts';
import { permissions } from './permissions.ts';
import { port } from './port.ts';
import { units } from './units.ts';

/** In the order in which they are run and told: one that needs another comes after it. systemd/CHECK.md has them all. */
export const CHECKS: readonly Check[] = [
  configuration,
  permissions,
  disk,
  database,
  clock,
  port,
  units,
  token,
  certificate,
  backup,
  { name: 'ship', look: ({ settings, checkShipping }) => checkShipping(settings) },
  log,
];

/** Runs every check, one after another, whatever becomes of those before. */
export async function runChecks(box: Box): Promise<CheckResult[]> {
  const results: CheckResult[] = [];
  for (const check of CHECKS) results.push(await runCheck(check, box));
  return results;
}

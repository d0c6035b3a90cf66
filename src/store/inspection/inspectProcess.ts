import type { Database } from 'better-sqlite3';
import { DataDirectory } from '../../base/dataDirectory.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { becomeOwner } from '../../base/processIdentity.ts';
import { yieldToIngest } from '../../base/yieldToIngest.ts';
import { withDatabase } from '../open/withDatabase.ts';
import { checkConsistency, type OnProgress } from './consistency.ts';
import type { Inspections, InspectMessage } from './inspect.ts';

/** The process of inspect.ts. */

const TELL_MS = 200;

type Work = { readonly [Name in keyof Inspections]: (db: Database, told: OnProgress) => unknown };

const WORK: Work = {
  integrity: checkIntegrity,
  consistency: checkConsistency,
};

function checkIntegrity(db: Database): number {
  const lines = db.pragma('integrity_check') as { integrity_check: string }[];
  return lines.filter((line) => line.integrity_check !== 'ok').length;
}

function say(answer: InspectMessage): Promise<void> {
  return new Promise((resolve) => {
    process.send?.(answer, () => resolve());
  });
}

// The caller is gone.
process.once('disconnect', () => process.exit(1));
yieldToIngest();
const [name = '', data = ''] = process.argv.slice(2);
const directory = new DataDirectory(data);
becomeOwner(data);
let toldAt = performance.now();
const told: OnProgress = (done, of) => {
  if (performance.now() - toldAt < TELL_MS) return;
  toldAt = performance.now();
  void say({ done, of });
};
try {
  const work = (db: Database) => WORK[name as keyof Inspections](db, told);
  await say({ result: await withDatabase({ data: directory }, work, { check: name === 'quick' }) });
} catch (error) {
  const why = (error as Error).message;
  await say({
    failed: error instanceof OperatorError ? why : `This is a fault of courtd, please report it: ${why}`,
  });
}
process.exit(0);

import { OperatorError } from '../../base/operatorError.ts';
import { yieldToIngest } from '../../base/yieldToIngest.ts';
import { openDatabase } from '../open/openDatabase.ts';
import { explain } from '../open/openErrors.ts';
import { checkConsistency, type Told } from './consistency.ts';
import type { Answer, Inspections } from './inspect.ts';
import { quickLook } from './quickLook.ts';

/** The process of inspect.ts. */

const TELL_MS = 200;

type Work = { readonly [Name in keyof Inspections]: (directory: string, told: Told) => unknown };

const WORK: Work = {
  quick: quickLook,
  integrity: checkIntegrity,
  consistency: checkConsistency,
};

function checkIntegrity(directory: string): number {
  const db = openDatabase(directory);
  try {
    const lines = db.pragma('integrity_check') as { integrity_check: string }[];
    return lines.filter((line) => line.integrity_check !== 'ok').length;
  } finally {
    db.close();
  }
}

function say(answer: Answer): Promise<void> {
  return new Promise((resolve) => {
    process.send?.(answer, () => resolve());
  });
}

// The caller is gone.
process.once('disconnect', () => process.exit(1));
yieldToIngest();
const [name = '', directory = ''] = process.argv.slice(2);
let toldAt = performance.now();
const told: Told = (done, of) => {
  if (performance.now() - toldAt < TELL_MS) return;
  toldAt = performance.now();
  void say({ done, of });
};
try {
  await say({ result: await WORK[name as keyof Inspections](directory, told) });
} catch (error) {
  const known = explain(error, directory);
  const why = known instanceof Error ? known.message : String(known);
  await say({
    failed: known instanceof OperatorError ? why : `This is a fault of courtd, please report it: ${why}`,
  });
}
process.exit(0);

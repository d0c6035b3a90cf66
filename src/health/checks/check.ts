import { OperatorError } from '../../base/operatorError.ts';
import { type CheckResult, type Finding, fail } from '../finding.ts';
import type { Box } from './box.ts';

export interface Check {
  readonly name: string;
  /** @throws {OperatorError} where what it looks at fails: that is a finding as well. */
  readonly look: (box: Box) => Finding | Promise<Finding>;
  /** Takes as long as the database is large, and shows how far it is. */
  readonly isUnbounded?: (box: Box) => boolean;
}

const CHECK_MS = 30_000;

/** What is wrong with one of the things that a check looks at, if anything. */
export type Fault = Finding | undefined;

/** @returns all that is wrong as one finding, the worst first; where all is well, `otherwise`. */
export function together(faults: readonly Fault[], otherwise: Finding): Finding {
  const all = faults.filter((fault) => fault !== undefined);
  const bad = ['fail', 'warn'].flatMap((level) => all.filter((fault) => fault.level === level));
  const [worst] = bad;
  if (worst === undefined) return otherwise;
  const join = (texts: readonly string[]) => [...new Set(texts)].join(' ');
  return {
    level: worst.level,
    message: join(bad.map(({ message }) => message)),
    advice: join(bad.map(({ advice }) => advice)),
  };
}

/** Runs one check; whatever happens to it is a result. */
export async function runCheck(check: Check, box: Box): Promise<CheckResult> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Finding>((resolve) => {
    if (check.isUnbounded?.(box)) return;
    const finding = fail(
      `This check did not come to an end within ${CHECK_MS / 1000} s.`,
      'Look at the log of the kernel ("sudo dmesg") for a disk that hangs, and run "courtd check" again.',
    );
    timer = setTimeout(() => resolve(finding), CHECK_MS);
  });
  try {
    const { level, message, advice } = await Promise.race([look(check, box), late]);
    return { name: check.name, level, message, advice };
  } finally {
    clearTimeout(timer);
  }
}

async function look(check: Check, box: Box): Promise<Finding> {
  try {
    return await check.look(box);
  } catch (error) {
    const { message } = error as Error;
    if (error instanceof OperatorError) return fail(message, 'Fix that, and run "courtd check" again.');
    const { code = '', path, syscall } = error as NodeJS.ErrnoException;
    if (/^(EACCES|EPERM)$/.test(code))
      return fail(`${path ?? 'Something'} is closed to this user.`, 'Use sudo.');
    return syscall === undefined
      ? fail(`This check has failed itself: ${message}.`, 'That is a fault of courtd: please report it.')
      : fail(`The system refused it: ${message}.`, 'Look whether the disk is there and mounted.');
  }
}

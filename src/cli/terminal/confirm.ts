import readline from 'node:readline/promises';
import { OperatorError } from '../../base/operatorError.ts';
import { say } from './output.ts';

/**
 * Asks the person at the terminal.
 * @param what would happen, as a sentence without its end. @param nothing is the case without a yes, such as `nothing was deleted`.
 * @throws {OperatorError} unless the answer is yes, or if there is nobody to ask.
 */
export async function confirmed(what: string, question: string, nothing: string): Promise<void> {
  if (process.stdin.isTTY !== true || process.stderr.isTTY !== true)
    throw new OperatorError(`${what}: ${nothing}. If that is right, repeat the command with --yes.`);
  const terminal = readline.createInterface({ input: process.stdin, output: process.stderr });
  let answer = '';
  try {
    answer = await terminal.question(`${what}. ${question} [y/N] `);
  } catch (error) {
    // Ctrl-C or Ctrl-D, which mean no.
    if ((error as Error).name !== 'AbortError') throw error;
    say('');
  } finally {
    terminal.close();
  }
  if (!/^y(es)?$/i.test(answer.trim()))
    throw new OperatorError(`${nothing[0]!.toUpperCase()}${nothing.slice(1)}.`);
}

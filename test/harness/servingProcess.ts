import { AsyncLocalStorage } from 'node:async_hooks';
import fs from 'node:fs';
import { makeProgram, runProgram } from '../../src/cli/program.ts';
import { endOfLife, setEnvironment } from './processLife.ts';
import { END, type Serve } from './servingAgain.ts';

/** The process of servingAgain.ts: serves one box after another, as messages ask it to. */

const exit = process.exit.bind(process);
let current: Serve | undefined;
let forget = () => {};
/** Which of them a callback belongs to: the timer of an earlier one does not end a later one. */
const daemons = new AsyncLocalStorage<Serve>();

process.on('message', (serve: Serve) => {
  current = serve;
  process.exitCode = undefined;
  forget = endOfLife();
  setEnvironment(serve.env);
  void daemons.run(serve, async () => {
    await runProgram(makeProgram(), serve.args);
    if (process.exitCode !== undefined) exit();
  });
});
process.once('disconnect', () => exit(0));

process.exit = ((status = process.exitCode) => {
  if ((daemons.getStore() ?? current) !== current) return;
  // What has failed may have left anything behind.
  if (Number(status ?? 0) !== 0) exit(status);
  current = undefined;
  forget();
  while (!hasTold());
}) as typeof exit;

function hasTold(): boolean {
  try {
    return fs.writeSync(1, Buffer.of(END)) === 1;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return false;
    throw error;
  }
}

import { start } from './daemon.ts';

interface Test {
  teardown(done: () => unknown): void;
  comment(line: string): void;
}

/**
 * Runs one of the project's scripts to its end, its words as comments of the test. Where the test ends before, the script is
 * told to: it undoes what it has mounted and started.
 */
export async function runScript(t: Test, script: string, ...args: readonly string[]) {
  const child = start(process.execPath, [script, ...args]);
  t.teardown(() => child.kill('SIGTERM'));
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      said += chunk;
    });
  }
  const status = await new Promise<number | null>((resolve) => child.once('close', resolve));
  for (const line of said.trim().split('\n')) t.comment(line);
  return { status, said };
}

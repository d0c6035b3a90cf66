import { once } from 'node:events';
import path from 'node:path';
import readline from 'node:readline';
import { type Cleanup, cleanEnvironment, start } from './daemon.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
/** What `npm start` runs. */
export const COMMAND = [
  path.join(ROOT, 'node_modules/.bin/node'),
  [path.join(ROOT, 'scripts/start.ts')],
] as const;

/** `npm start` on a data directory, until it has printed its command and the line after that. */
export async function started(t: Cleanup, data: string, told = {}) {
  const env = cleanEnvironment({ COURTD_DATA: data, COURTD_PORT: '0', ...told });
  const child = start(...COMMAND, { env });
  const exited = once(child, 'exit');
  t.teardown(() => child.kill('SIGKILL'));
  const lines: string[] = [];
  let curl = '';
  for await (const line of readline.createInterface(child.stdout)) {
    lines.push(line);
    if (lines.at(-2)?.startsWith('curl ')) {
      curl = lines.at(-2) ?? '';
      break;
    }
  }
  return { curl, lines, child, exited };
}

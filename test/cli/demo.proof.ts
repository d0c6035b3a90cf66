import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import t, { type Test } from 'tap';
import { cleanEnvironment, temporaryFolder } from '../harness/daemon.ts';
import { missingPrograms } from '../harness/needs.ts';

/** `npm run demo`, by what npm runs. */

const ROOT = path.resolve(import.meta.dirname, '../..');
const NODE = path.join(ROOT, 'node_modules/.bin/node');
const DEMO = path.join(ROOT, 'scripts/demo.ts');
const skip = missingPrograms({ script: 'bsdutils' }) ?? false;

class Demo {
  /** Its temporary files. */
  readonly folder: string;
  readonly child: ChildProcess;
  readonly exited: Promise<unknown[]>;
  said = '';

  constructor(t: Test, program: string, args: readonly string[]) {
    this.folder = temporaryFolder(t);
    const env = cleanEnvironment({ TMPDIR: this.folder, TERM: 'xterm', SHELL: '/bin/sh' });
    this.child = spawn('env', ['-u', 'NODE_OPTIONS', program, ...args], {
      env,
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.exited = once(this.child, 'exit');
    this.child.stdout!.on('data', (chunk) => {
      this.said += chunk;
    });
    t.teardown(() => void this.child.kill('SIGKILL'));
  }

  /** @returns what matches, once it has been said. */
  async says(what: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const found = what.exec(this.said);
      if (found !== null) return found;
      await once(this.child.stdout!, 'data');
    }
  }
}

t.test('a demo sends for the given time, reports what it did, and leaves nothing running', async (t) => {
  const report = path.join(temporaryFolder(t), 'report.html');
  const demo = new Demo(t, NODE, [DEMO, '--for', '3s', '--courts', '1', '-o', report]);
  const [, url = ''] = await demo.says(/A box listens at (\S+),/);
  t.strictSame(await demo.exited, [0, null]);
  t.match(demo.said, /The cameras sent \d+ requests: \d+ events stored, .* 0 not delivered/);
  t.match(demo.said, `The report of the first court is ${report}`);
  t.match(fs.readFileSync(report, 'utf8'), /^<!doctype html>.*court-1/is);
  await t.rejects(fetch(url), 'the daemon is gone');
  t.strictSame(fs.readdirSync(demo.folder), []);
});

for (const signal of ['SIGTERM', 'SIGHUP'] as const) {
  t.test(`${signal} ends all of it`, async (t) => {
    const demo = new Demo(t, NODE, [DEMO, '-o', path.join(temporaryFolder(t), 'report.html')]);
    const [, url = ''] = await demo.says(/A box listens at (\S+),/);
    demo.child.kill(signal);
    const [status] = await demo.exited;
    t.ok(status === 0 || status === 1, 'it may have been too early for any event');
    await t.rejects(fetch(url), 'the daemon is gone');
    t.strictSame(fs.readdirSync(demo.folder), []);
  });
}

t.test('on a terminal it shows the status, and Ctrl-C ends it', { skip }, async (t) => {
  const report = path.join(temporaryFolder(t), 'report.html');
  const run = `stty cols 100 rows 30; exec ${NODE} ${DEMO} --courts 1 -o ${report}`;
  const demo = new Demo(t, 'script', ['-qfec', run, '/dev/null']);
  await demo.says(/sending .*court-1-cam-2/);
  demo.child.stdin!.write('\x03');
  t.strictSame(await demo.exited, [0, null]);
  t.match(demo.said, /The cameras sent \d+ requests: \d+ events stored/);
  t.strictSame(fs.readdirSync(demo.folder), []);
});

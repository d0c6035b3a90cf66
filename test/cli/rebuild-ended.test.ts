import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import t from 'tap';
import { BIN, cleanEnvironment, courtd, temporaryFolder } from '../harness/daemon.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { lines, rebuildFrom } from '../harness/lostBox.ts';

runInProcess();

for (const signal of ['SIGINT', 'SIGKILL'] as const) {
  t.test(`a rebuild that is ended by ${signal} leaves nothing that looks like a box`, async (t) => {
    const data = temporaryFolder(t);
    const begun = Promise.withResolvers<void>();
    const watcher = fs.watch(data, (_kind, name) => name?.endsWith('.partial') && begun.resolve());
    const child = spawn('env', ['-u', 'NODE_OPTIONS', BIN, 'rebuild', '-', '--data', data], {
      env: cleanEnvironment(),
    });
    const exit = once(child, 'exit');
    child.stdin.on('error', () => {});
    child.stdin.write(lines(1, 2_000).join(''));
    await begun.promise;
    watcher.close();
    child.kill(signal);
    t.strictSame(await exit, [null, signal]);
    const names = fs.readdirSync(data).sort();
    if (signal === 'SIGINT') t.strictSame(names, []);
    else t.strictSame(names, [`.courtd.db.${child.pid}.partial`, 'courtd.lock']);
    t.match(await courtd(['session', 'list', '--data', data]), {
      status: 1,
      stderr: /There is no courtd database/,
    });
    t.match(await rebuildFrom(lines(1, 20).join(''), data), { status: 0 });
    t.strictSame(fs.readdirSync(data).sort(), ['courtd.db', 'courtd.lock']);
  });
}

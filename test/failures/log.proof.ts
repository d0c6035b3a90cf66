import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import t, { type Test } from 'tap';
import { BIN, cleanEnvironment, courtd, temporaryFolder } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { SmallDisk, withoutMount } from '../harness/smallDisk.ts';
import { SYNC, straceArguments, withoutStrace } from '../harness/strace.ts';

/** A log that cannot be written: standard output is a file on a full disk. */

/** Starts a daemon whose log is a file. */
async function start(t: Test, log: string, under: readonly string[] = []) {
  const data = temporaryFolder(t);
  const token = (await courtd(['token', 'rotate', '--data', data])).stdout.trim();
  const fd = fs.openSync(log, 'a');
  const serve = [BIN, 'serve', '--data', data, '--host', '127.0.0.1', '--port', '0', '--log-level', 'debug'];
  const [program = '', ...args] = [...under, ...serve];
  const child = spawn(program, args, { env: cleanEnvironment(), stdio: ['ignore', fd, 'ignore'] });
  fs.closeSync(fd);
  const exited = once(child, 'exit');
  t.teardown(() => {
    child.kill('SIGKILL');
    return exited;
  });
  let listening: string | null | undefined;
  while (!listening && child.exitCode === null) {
    const { stdout } = await courtd(['status', '--json', '--data', data]);
    listening = JSON.parse(stdout).daemon?.listening;
  }
  const post = async () => {
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
    const body = JSON.stringify(event());
    const answer = await fetch(`http://${listening}/v1/events`, { method: 'POST', headers, body });
    await answer.arrayBuffer();
    return answer.status;
  };
  return { data, child, exited, post };
}

t.test(
  'if the disk fails too, waiting clients get an answer and the daemon ends at once',
  { skip: withoutStrace },
  async (t) => {
    const { data, child, exited, post } = await start(t, '/dev/full');
    const faults = straceArguments(data, { calls: SYNC, effect: 'error=EIO', file: 'courtd.db-wal' });
    const strace = spawn('strace', ['-p', `${child.pid}`, ...faults], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    t.teardown(() => strace.kill('SIGKILL'));
    await once(strace.stderr, 'data');
    t.equal(await post(), 503);
    t.strictSame(await exited, [1, null]);
  },
);

t.test(
  'there is room again: the log has the lines that could not be written',
  { skip: withoutMount },
  async (t) => {
    const disk = await SmallDisk.mount(t, 1);
    const log = path.join(disk.folder, 'log');
    const { child, exited, post } = await start(t, log);
    let posts = 1;
    t.equal(await post(), 202);
    disk.fill();
    // Until the last page of the file is full as well.
    for (let size = -1; size !== fs.statSync(log).size || size % 4_096 !== 0; ) {
      size = fs.statSync(log).size;
      t.equal(await post(), 202);
      posts++;
    }
    for (let i = 0; i < 20; i++, posts++) t.equal(await post(), 202);
    disk.makeRoom();
    t.equal(await post(), 202);
    child.kill('SIGTERM');
    t.strictSame(await exited, [0, null]);
    const lines = fs.readFileSync(log, 'utf8').split('\n').slice(0, -1);
    const whole = lines.map((line) => {
      try {
        return JSON.parse(line);
      } catch {
        return { torn: line };
      }
    });
    t.equal(whole.filter(({ accepted, request_id }) => accepted === 1 && request_id).length, posts + 1);
    t.equal(whole.at(-1).msg, 'stopped');
  },
);

import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { BIN, courtd, Daemon, run, start, temporaryFolder } from '../../harness/daemon.ts';
import { event } from '../../harness/events.ts';

/**
 * The barrier at start (src/store/db/rewriteWal.ts). A daemon dies between writing an event to the log and syncing it: the
 * event is in the page cache, and the next daemon sees it. It must not call it a duplicate before it is on disk. If
 * the sync was not just late but failed, the kernel takes the log's pages for clean from then on, and another sync of
 * the log would do nothing: so the log must have been written anew before it is synced, and both before the database changes.
 */

const LONGER_THAN_THE_TEST = 'delay_enter=600000000';
const WAIT_MS = 60_000;

/** One system call that has returned, in the order of returning. */
interface Call {
  readonly name: string;
  /** The whole line: arguments, with the path of every descriptor, and result. */
  readonly text: string;
}

/** Reads the output of `strace -f -o`, in which calls of several threads may overlap. */
function readCalls(file: string): Call[] {
  const begun = new Map<string, string>();
  const calls: Call[] = [];
  for (const line of fs.readFileSync(file, 'utf8').split('\n')) {
    const [, thread = '', rest = ''] = /^(\d+)\s+(.*)$/.exec(line) ?? [];
    if (rest.endsWith('<unfinished ...>')) {
      begun.set(thread, rest.slice(0, -'<unfinished ...>'.length));
      continue;
    }
    const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(rest);
    const text = resumed ? `${begun.get(thread) ?? ''}${resumed[1]}` : rest;
    const name = /^(\w+)\(/.exec(text)?.[1];
    if (name !== undefined) calls.push({ name, text });
  }
  return calls;
}

async function until(isSo: () => boolean, what: string): Promise<void> {
  const giveUpAt = performance.now() + WAIT_MS;
  while (!isSo()) {
    if (performance.now() > giveUpAt) throw new Error(`waited in vain for ${what}`);
    await sleep(10);
  }
}

/** @returns why there can be no strace here; undefined if it works. */
async function noStrace(): Promise<string | undefined> {
  const { status, stderr } = await run('strace', ['-qq', '-o', '/dev/null', 'true']);
  if (status === 0) return undefined;
  return `strace does not work here, or is not installed (apt-get install strace): ${stderr.trim()}`;
}

t.test(
  'an event that was written but never synced is on disk before its resend is a duplicate',
  { skip: (await noStrace()) ?? false },
  async (t) => {
    const first = await Daemon.start(t);
    const { data, token } = first;
    const wal = path.join(data, 'courtd.db-wal');
    // The first commit to an empty log syncs its header before it writes.
    const before = event();
    t.equal((await first.post(before)).status, 202);
    const hold = `inject=fsync,fdatasync:${LONGER_THAN_THE_TEST}`;
    const holder = start('strace', [
      '-f',
      '-e',
      'trace=fsync,fdatasync',
      '-e',
      hold,
      '-p',
      `${first.child.pid}`,
    ]);
    t.teardown(() => holder.kill('SIGKILL'));
    let said = '';
    holder.stderr.on('data', (chunk) => {
      said += chunk;
    });
    await until(() => /attached/.test(said), `strace to attach: ${said}`);
    const sent = event();
    let answered = false;
    const request = first.post(sent).then(
      () => {
        answered = true;
      },
      () => {},
    );
    await until(() => fs.readFileSync(wal).includes(sent.event_id), 'the event to be written');
    await until(() => /fdatasync\(|fsync\(/.test(said), 'it to be synced');
    first.child.kill('SIGKILL');
    // Only when strace lets go of it is it gone; it does not get to run again.
    holder.kill('SIGKILL');
    t.equal(await first.exited, null);
    await request;
    t.notOk(answered, 'it was not acknowledged');

    const calls = path.join(temporaryFolder(t), 'calls');
    const trace = ['-D', '-f', '-y', '-s', '64', '-o', calls];
    const wanted = 'trace=listen,write,writev,pwrite64,fsync,fdatasync';
    const serve = ['serve', '--host', '127.0.0.1', '--port', '0', '--data', data];
    // With -D the child is courtd itself, and strace its grandchild.
    const second = start('strace', [...trace, '-e', wanted, BIN, ...serve]);
    t.teardown(() => second.kill('SIGKILL'));
    const port = await new Promise<number>((resolve) => {
      readline.createInterface(second.stdout).on('line', (text) => {
        const { msg, port } = JSON.parse(text);
        if (msg === 'listening') resolve(port);
      });
    });
    const response = await fetch(`http://127.0.0.1:${port}/v1/events`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(sent),
    });
    t.equal(response.status, 202);
    t.strictSame(await response.json(), { accepted: 0, duplicates: 1 });
    const ended = once(second, 'close');
    second.kill('SIGTERM');
    await ended;
    await until(() => /\+\+\+ exited/.test(fs.readFileSync(calls, 'utf8')), 'strace to end');

    const all = readCalls(calls);
    const isSync = ({ name, text }: Call) => /^f(data)?sync$/.test(name) && / = 0$/.test(text);
    const database = path.join(data, 'courtd.db');
    const indexOf = (what: string, is: (call: Call) => boolean, from = 0) => {
      const at = all.findIndex((call, i) => i >= from && is(call));
      t.ok(at >= 0, `${what}: ${at < 0 ? 'never' : all[at]!.text.slice(0, 120)}`);
      return at < 0 ? Number.POSITIVE_INFINITY : at;
    };
    const answer = indexOf('the answer', ({ text }) => text.includes('HTTP/1.1 202'));
    const isWrite = ({ name, text }: Call, file: string) => name === 'pwrite64' && text.includes(`<${file}>`);
    const rewrite = indexOf('a write of the log', (call) => isWrite(call, wal));
    const logSync = indexOf(
      'a sync of it',
      (call) => isSync(call) && call.text.includes(`<${wal}>`),
      rewrite,
    );
    t.ok(logSync < all.findIndex((call) => isWrite(call, database)), 'both before the database changed');
    const listen = indexOf('listening', ({ name }) => name === 'listen');
    t.ok(logSync < answer, 'the log was synced before the answer');
    t.ok(logSync < listen, 'and before anybody could ask');
    const { stdout } = await courtd(['export', sent.session_id, '--format', 'ndjson', '--data', data]);
    t.strictSame(
      stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
      [before, sent],
      'both are there, once',
    );
  },
);

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import {
  BIN,
  type CommandResult,
  cleanEnvironment,
  courtd,
  Daemon,
  run,
  temporaryFolder,
} from '../../harness/daemon.ts';
import { event, events } from '../../harness/events.ts';
import { runInProcess } from '../../harness/inProcess.ts';
import { NatsServers } from '../../harness/nats.ts';
import { missingNats } from '../../harness/natsProgram.ts';
import { withoutRoot } from '../../harness/needs.ts';
import { openProgram } from '../../harness/openProgram.ts';
import { SmallDisk, withoutMount } from '../../harness/smallDisk.ts';
import { Box } from '../ship/box.ts';
import { CopyingBox } from '../ship/copied.ts';
import { gapsOf, Headquarters } from '../ship/headquarters.ts';

runInProcess();

openProgram();

/** A rebuild that is disturbed, as root does it, and from headquarters. */

const KILLS = 20;

/** A box with this many events, and its copy. */
async function copiedBox(t: Test, count: number): Promise<CopyingBox> {
  const box = new CopyingBox(t);
  for (let at = 0; at < count; at += 500) box.put(...events(500, { note: 'x'.repeat(500) }));
  t.match(await box.once(), { status: 0 });
  return box;
}

const rebuild = (copy: string, data: string) => courtd(['rebuild', copy, '--data', data]);

t.test('killed at any moment it leaves no box, and the next one makes it whole', async (t) => {
  const box = await copiedBox(t, 20_000);
  const all = await box.stored();
  const startedAt = performance.now();
  const timed = path.join(temporaryFolder(t), 'timed');
  t.match(await rebuild(box.copy, timed), { status: 0 });
  const tookMs = performance.now() - startedAt;
  const data = path.join(temporaryFolder(t), 'data');
  let killed = 0;
  for (let turn = 0; turn < KILLS; turn++) {
    const child = spawn('env', ['-u', 'NODE_OPTIONS', BIN, 'rebuild', box.copy, '--data', data], {
      env: cleanEnvironment(),
      stdio: 'ignore',
    });
    const exit = once(child, 'exit');
    await sleep((tookMs * (turn + 0.5)) / KILLS);
    child.kill('SIGKILL');
    const [status] = await exit;
    const names = fs.existsSync(data) ? fs.readdirSync(data) : [];
    if (status === null && !names.includes('courtd.db')) {
      killed++;
      t.ok(names.length <= 2, `what an earlier one has left is gone: ${names}`);
      continue;
    }
    // It was complete by then.
    t.equal(await new Box(t, data, {}).lines().then((lines) => lines.join('')), all);
    fs.rmSync(data, { recursive: true });
  }
  t.ok(killed > KILLS / 2, `${killed} were killed in the middle`);
  fs.rmSync(path.join(data, 'courtd.db'), { force: true });
  t.match(await rebuild(box.copy, data), { status: 0 });
  t.strictSame(fs.readdirSync(data).sort(), ['courtd.db', 'courtd.lock']);
  t.equal((await new Box(t, data, {}).lines()).join(''), all);
});

t.test(
  'a full disk ends it with one sentence, and nothing is left on it',
  { skip: withoutMount },
  async (t) => {
    const box = await copiedBox(t, 10_000);
    const disk = await SmallDisk.mount(t, 4);
    const { status, stderr } = await rebuild(box.copy, disk.data);
    t.equal(status, 1);
    t.match(stderr, /^courtd: The disk of \/[^\n]+ is full: free some space and try again\.\n$/);
    t.strictSame(fs.readdirSync(disk.data), []);
  },
);

t.test(
  'root reads a copy of another user, and what it makes is the owner of the directory its own',
  { skip: withoutRoot },
  async (t) => {
    const box = await copiedBox(t, 500);
    for (const name of ['.', ...fs.readdirSync(box.copy, { recursive: true, encoding: 'utf8' })])
      fs.chownSync(path.join(box.copy, name), 3456, 3456);
    fs.chmodSync(box.root, 0o700);
    const data = temporaryFolder(t);
    fs.chownSync(data, 1234, 2345);
    t.match(await rebuild(box.copy, data), { status: 0 });
    for (const name of fs.readdirSync(data))
      t.match(fs.statSync(path.join(data, name)), { uid: 1234, gid: 2345 }, name);
    const owner = ['setpriv', '--reuid=1234', '--regid=2345', '--clear-groups', BIN] as const;
    const as = (...args: string[]): Promise<CommandResult> =>
      run(owner[0], [...owner.slice(1), ...args, '--data', data]);
    t.match(await as('session', 'list'), { status: 0, stdout: / 500 / });
    // In a directory that others may write to as well, a link could lead root anywhere.
    const shared = temporaryFolder(t);
    fs.chmodSync(shared, 0o777);
    t.match(await rebuild(box.copy, shared), {
      status: 1,
      stderr: /belongs to root, and other users may write to it/,
    });
    t.strictSame(fs.readdirSync(shared), []);
  },
);

const skip = await missingNats();

t.test('from headquarters: the same box, whose log goes on there with nothing twice', { skip }, async (t) => {
  const servers = await NatsServers.start(t);
  const hq = await Headquarters.connect(t, servers.url);
  await hq.init();
  const env = { COURTD_SHIP_URL: servers.url, COURTD_SHIP_BOX: 'venue-7' };
  const lost = new Box(t, temporaryFolder(t), env);
  for (let turn = 0; turn < 4; turn++) lost.put(...events(700, { session_id: `s-${turn}` }));
  t.match(await lost.once(), { status: 0 });
  const other = new Box(t, temporaryFolder(t), { ...env, COURTD_SHIP_BOX: 'venue-8' });
  other.put(...events(10));
  t.match(await other.once(), { status: 0 });
  const data = path.join(temporaryFolder(t), 'data');
  const line = `"$0" fleet tail "$1" --box venue-7 --after 0 | "$0" rebuild - --json --data "$2"`;
  const { status, stdout, stderr } = await run('sh', ['-c', line, BIN, servers.url, data]);
  t.equal(status, 0, stderr);
  t.match(JSON.parse(stdout), { box: 'venue-7', events: 2_800, tokens: null, follows_epoch: true });
  const box = new Box(t, data, env);
  t.strictSame(await box.lines(), await lost.lines());
  const before = (await hq.messages('venue-7')).length;
  t.match(await box.once(), { status: 0 });
  t.equal((await hq.messages('venue-7')).length, before, 'nothing is shipped twice');
  const { stdout: token } = await box.command('token', 'rotate');
  const daemon = await Daemon.run(t, data, token.trim());
  t.equal((await daemon.post([event(), event()])).status, 202);
  await daemon.stop();
  t.match(await box.once(), { status: 0 });
  const messages = await hq.messages('venue-7');
  t.strictSame(messages.flatMap(({ lines }) => lines).join(''), (await box.lines()).join(''));
  t.strictSame(gapsOf(messages), [], 'the chain is whole');
});

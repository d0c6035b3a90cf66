import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { BIN, Daemon, run, temporaryFolder } from '../harness/daemon.ts';
import { openProgram } from '../harness/openProgram.ts';

/** Only users who may read the database may ask the daemon. Users and groups that need no account. */
const [OWNER, GROUP, MEMBER, STRANGER] = [12_345, 12_346, 12_347, 12_348];

const user = (uid: number, ...groups: string[]) => ['setpriv', `--reuid=${uid}`, ...groups];
const owner = user(OWNER, `--regid=${GROUP}`, '--clear-groups');
const member = user(MEMBER, `--regid=${MEMBER}`, `--groups=${GROUP}`);
const stranger = user(STRANGER, `--regid=${STRANGER}`, '--clear-groups');

const skip = process.getuid?.() !== 0 && 'only root can be somebody else';
openProgram();

t.test('root, the owner and the group may ask the daemon; a stranger may not', { skip }, async (t) => {
  const folder = temporaryFolder(t);
  fs.chmodSync(folder, 0o755);
  const data = path.join(folder, 'data');
  fs.mkdirSync(data);
  fs.chownSync(data, OWNER, GROUP);
  // Open to everybody to enter: the socket's own mode is what keeps a stranger out.
  fs.chmodSync(data, 0o2775);
  const as = (who: readonly string[], ...args: string[]) => run(who[0]!, [...who.slice(1), BIN, ...args]);
  const token = (await as(owner, 'token', 'rotate', '--data', data)).stdout.trim();
  const daemon = await Daemon.run(t, data, token, [], {}, owner);
  const socket = fs.lstatSync(path.join(data, 'control.sock'));
  t.strictSame([socket.uid, socket.gid, socket.mode & 0o777], [OWNER, GROUP, 0o660]);
  for (const [name, who] of Object.entries({ root: ['env'], owner, member })) {
    const { stdout, stderr, status } = await as(who, 'status', '--json', '--data', data);
    t.strictSame([stderr, status], ['', 0], name);
    t.match(JSON.parse(stdout), { daemon: { running: true, listening: `127.0.0.1:${daemon.port}` } }, name);
  }
  const connect = `require('net').connect('${data}/control.sock').on('error', (e) => console.log(e.code)).on('connect', () => process.exit())`;
  const node = path.resolve(BIN, '../../node_modules/.bin/node');
  const { stdout } = await run(stranger[0]!, [...stranger.slice(1), node, '-e', connect]);
  t.equal(stdout.trim(), 'EACCES');
  const { status, stderr } = await as(stranger, 'status', '--data', data);
  t.equal(status, 1);
  t.match(stderr, /is not accessible to this user/);
  t.equal(await daemon.stop(), 0);
});

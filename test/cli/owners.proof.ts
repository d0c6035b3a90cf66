import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { BIN, type Cleanup, type CommandResult, Daemon, run, temporaryFolder } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { openProgram } from '../harness/openProgram.ts';

/** Users and groups that need no account: the daemon's, that of a technician in the group, and that of a third person. */
const OWNER = 12_345;
const GROUP = 12_346;
const MEMBER = 12_347;
const THIRD = 12_348;

const SETPRIV = (uid: number, gid: number) => ['setpriv', `--reuid=${uid}`, `--regid=${gid}`] as const;
const AS = {
  root: ['env'],
  member: [...SETPRIV(MEMBER, MEMBER), `--groups=${GROUP}`],
  owner: [...SETPRIV(OWNER, GROUP), '--clear-groups'],
  third: [...SETPRIV(THIRD, THIRD), '--clear-groups'],
} as const;
type Who = keyof typeof AS;

const isRoot = process.getuid?.() === 0;
const skip = !isRoot && 'only root can be somebody else';
openProgram();

const SENTENCE = /^courtd: [^\n]+\n$/;

function as(who: Who, ...args: string[]): Promise<CommandResult> {
  const [program, ...rest] = [...AS[who], BIN, ...args];
  return run(program!, rest);
}

/** The data directory of a daemon, as the package makes it, with an event in it; and a folder that only root can enter. */
async function venue(t: Cleanup, mode = 0o2770) {
  const folder = temporaryFolder(t);
  fs.chmodSync(folder, 0o755);
  const [data, roots] = [path.join(folder, 'data'), path.join(folder, 'roots')];
  fs.mkdirSync(data);
  fs.chownSync(data, OWNER, GROUP);
  fs.chmodSync(data, mode);
  fs.mkdirSync(roots, { mode: 0o700 });
  const token = (await as('owner', 'token', 'rotate', '--data', data)).stdout.trim();
  const daemon = await Daemon.run(t, data, token, [], {}, AS.owner);
  const stored = await daemon.post(event({ session_id: 's', event_id: 'e' }));
  if (stored.status !== 202) throw new Error(`answered ${stored.status}`);
  await daemon.stop();
  return { folder, data, roots, token };
}

/** @returns what is in a folder, and under which rights; a link by where it leads. */
function contents(folder: string): string[] {
  return fs
    .readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .sort()
    .map((name) => {
      const file = path.join(folder, name);
      const { mode, uid, gid } = fs.lstatSync(file);
      const is = fs.lstatSync(file).isFile() ? fs.readFileSync(file, 'hex') : '';
      return `${name} ${mode.toString(8)} ${uid}:${gid} ${is}`;
    });
}

t.test(
  'the daemon can open each file that root or a member of the group makes in the data directory',
  { skip },
  async (t) => {
    const { folder, data, roots, token } = await venue(t);
    const places = { root: roots, member: path.join(folder, 'members') };
    fs.mkdirSync(places.member);
    fs.chownSync(places.member, MEMBER, MEMBER);
    for (const who of ['member', 'root'] as const) {
      const place = fs.mkdtempSync(path.join(places[who], 'out-'));
      if (who === 'member') fs.chownSync(place, MEMBER, MEMBER);
      const backup = path.join(place, 'backup.db');
      for (const args of [
        ['session', 'list'],
        ['export', 's', '-o', path.join(place, 's.csv')],
        ['support', '-o', path.join(place, 'support.txt')],
        ['token', 'rotate'],
        ['prune', '--older-than', '1d', '--dry-run'],
        ['backup', backup],
        ['restore', backup],
      ]) {
        const { status, stderr } = await as(who, ...args, '--data', data);
        const what = `${args.join(' ')} as ${who}`;
        t.equal(status, 0, `${what}: ${stderr}`);
        const names = fs.readdirSync(data).map((name) => path.join(data, name));
        for (const name of names) {
          const { uid, gid, mode } = fs.statSync(name);
          t.ok(uid === OWNER || gid === GROUP, `${what}: ${name} is of ${uid}:${gid}`);
          t.equal(mode & 0o777, 0o660, `${what}: ${name}`);
        }
      }
      t.ok(fs.readFileSync(path.join(place, 's.csv'), 'utf8').split('\n').length > 1);
      for (const name of ['s.csv', 'support.txt']) {
        t.equal(
          fs.statSync(path.join(place, name)).mode & 0o777,
          0o640,
          `${name} as ${who}: others cannot read it`,
        );
      }
      const daemon = await Daemon.run(t, data, token, [], {}, AS.owner);
      t.match(await (await daemon.post(event({ session_id: 's', event_id: 'e' }))).json(), { duplicates: 1 });
      t.match(await (await daemon.post(event({ session_id: 's' }))).json(), { accepted: 1 });
      await daemon.stop();
    }
  },
);

t.test(
  'root meets links that a member has put where files are made: nothing outside is made, changed or read',
  { skip },
  async (t) => {
    const planted = [
      ['courtd.clock', 'prune', '--older-than', '1d', '--dry-run'],
      ['courtd.lock', 'restore', 'BACKUP'],
      ['courtd.db', 'token', 'rotate'],
      ['courtd.db-wal', 'session', 'list'],
      ['courtd.db-shm', 'export', 's', '-o', 'ROOTS/s.csv'],
      ['courtd.db-journal', 'backup', 'ROOTS/b.db'],
    ] as const;
    const { folder, data, roots } = await venue(t);
    const backup = path.join(roots, 'backup.db');
    t.match(await as('root', 'backup', backup, '--data', data), { status: 0 });
    const outside = path.join(folder, 'outside');
    fs.mkdirSync(outside);
    fs.writeFileSync(path.join(outside, 'precious'), 'mine\n');
    const before = contents(outside);
    for (const [name, ...args] of planted) {
      const link = path.join(data, name);
      const away = path.join(roots, 'away');
      if (fs.existsSync(link)) fs.renameSync(link, away);
      fs.symlinkSync(path.join(outside, 'precious'), link);
      const told = args.map((arg) => arg.replace('BACKUP', backup).replace('ROOTS', roots));
      const { status, stdout, stderr } = await as('root', ...told, '--data', data);
      const what = `${args.join(' ')} over ${name}`;
      t.strictSame({ status, stdout }, { status: 1, stdout: '' }, what);
      t.match(stderr, SENTENCE, what);
      t.match(stderr, `${link} is a symbolic link`, what);
      t.strictSame(contents(outside), before, what);
      fs.rmSync(link);
      if (fs.existsSync(away)) fs.renameSync(away, link);
    }
    t.match(await as('root', 'session', 'list', '--data', data), { status: 0 });
  },
);

t.test('a directory or a file that a user cannot open is named, with what fixes it', { skip }, async (t) => {
  const { data } = await venue(t);
  const before = contents(data);
  for (const args of [
    ['session', 'list'],
    ['tail', '--follow'],
    ['token', 'rotate'],
    ['serve', '--port', '0'],
  ]) {
    const { status, stdout, stderr } = await as('third', ...args, '--data', data);
    t.strictSame({ status, stdout }, { status: 1, stdout: '' }, args[0]!);
    t.match(stderr, /^courtd: \S*data\S* is not accessible to this user/);
  }
  t.strictSame(contents(data), before);
  const file = path.join(data, 'courtd.db');
  fs.chownSync(file, 0, 0);
  fs.chmodSync(file, 0o600);
  t.match(await as('root', 'session', 'list', '--data', data), { status: 0 });
  for (const who of ['owner', 'member'] as const) {
    const { status, stderr } = await as(who, 'session', 'list', '--data', data);
    t.equal(status, 1, who);
    const advice = /^courtd: \S+courtd\.db [^\n]*"(sudo chown [^"]+)"[^\n]*\n$/.exec(stderr);
    t.ok(advice !== null, stderr);
    if (who !== 'member') continue;
    await run('/bin/sh', ['-c', advice![1]!.replaceAll('sudo ', '')]);
    t.match(await as('owner', 'session', 'list', '--data', data), { status: 0 });
  }
});

t.test('root, the owner and the group may ask the daemon, and a stranger may not', { skip }, async (t) => {
  // Open to everybody to enter: the socket's own mode keeps a stranger out.
  const { data, token } = await venue(t, 0o2775);
  await Daemon.run(t, data, token, [], {}, AS.owner);
  const socket = fs.lstatSync(path.join(data, 'control.sock'));
  t.strictSame([socket.uid, socket.gid, socket.mode & 0o777], [OWNER, GROUP, 0o660]);
  for (const who of ['root', 'owner', 'member'] as const) {
    const { stdout, stderr } = await as(who, 'status', '--json', '--data', data);
    t.equal(stderr, '', who);
    t.equal(JSON.parse(stdout).daemon.running, true, who);
  }
  const connect = `require('net').connect('${data}/control.sock').on('error', (e) => console.log(e.code)).on('connect', () => process.exit())`;
  const node = path.resolve(BIN, '../../node_modules/.bin/node');
  const [program, ...args] = [...AS.third, node, '-e', connect];
  t.equal((await run(program, args)).stdout.trim(), 'EACCES');
  t.match(await as('third', 'status', '--data', data), {
    status: 1,
    stderr: /is not accessible to this user/,
  });
});

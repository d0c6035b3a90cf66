import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import {
  BIN,
  type Cleanup,
  type CommandResult,
  courtd,
  Daemon,
  run,
  temporaryFolder,
} from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { openProgram } from '../harness/openProgram.ts';
import { withoutStrace } from '../harness/strace.ts';

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
  'every command as root and as a member of the group: afterwards the daemon can open all that is there',
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
        ['session', 'show', 's'],
        ['event', 'show', 's', 'e'],
        ['export', 's'],
        ['export', 's', '-o', path.join(place, 's.csv')],
        ['report', 's', '-o', path.join(place, 's.html')],
        ['support', '-o', path.join(place, 'support.txt')],
        ['token', 'rotate'],
        ['token', 'list'],
        ['token', 'revoke', '9'],
        ['prune', '--older-than', '1d', '--dry-run'],
        ['backup', backup],
        ['backup', place],
        ['restore', backup],
      ]) {
        const { status, stderr } = await as(who, ...args, '--data', data);
        const what = `${args.join(' ')} as ${who}`;
        t.equal(status, args[1] === 'revoke' ? 1 : 0, `${what}: ${stderr}`);
        const names = fs.readdirSync(data).map((name) => path.join(data, name));
        for (const name of names) {
          const { uid, gid, mode } = fs.statSync(name);
          t.ok(uid === OWNER || gid === GROUP, `${what}: ${name} is of ${uid}:${gid}`);
          t.equal(mode & 0o777, 0o660, `${what}: ${name}`);
        }
      }
      t.ok(fs.readFileSync(path.join(place, 's.csv'), 'utf8').split('\n').length > 1);
      for (const name of ['s.csv', 's.html', 'support.txt']) {
        const { mode, gid } = fs.statSync(path.join(place, name));
        const group = who === 'root' ? GROUP : MEMBER;
        t.strictSame([mode & 0o777, gid], [0o640, group], `${name} as ${who}: others cannot read it`);
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
    const planted: [name: string, commands: string[][]][] = [
      ['courtd.clock', [['prune', '--older-than', '1d', '--dry-run']]],
      ['courtd.lock', [['restore', 'BACKUP'], ['serve']]],
      [
        'courtd.db',
        [
          ['token', 'rotate'],
          ['restore', 'BACKUP'],
          ['session', 'list'],
        ],
      ],
      ['courtd.db-wal', [['session', 'list']]],
      ['courtd.db-shm', [['export', 's', '-o', 'ROOTS/s.csv']]],
      ['courtd.db-journal', [['backup', 'ROOTS/b.db']]],
    ];
    const { folder, data, roots } = await venue(t);
    const backup = path.join(roots, 'backup.db');
    t.match(await as('root', 'backup', backup, '--data', data), { status: 0 });
    const outside = path.join(folder, 'outside');
    fs.mkdirSync(outside);
    fs.writeFileSync(path.join(outside, 'precious'), 'mine\n');
    const before = contents(outside);
    for (const [name, commands] of planted) {
      for (const args of commands) {
        for (const to of ['new', 'precious']) {
          const link = path.join(data, name);
          const away = path.join(roots, 'away');
          if (fs.existsSync(link)) fs.renameSync(link, away);
          fs.symlinkSync(path.join(outside, to), link);
          const told = args.map((arg) => arg.replace('BACKUP', backup).replace('ROOTS', roots));
          const limited = ['120', BIN, ...told, '--data', data];
          const { status, stdout, stderr } = await run('timeout', limited);
          const what = `${args.join(' ')} over ${name} to ${to}`;
          t.strictSame({ status, stdout }, { status: 1, stdout: '' }, what);
          t.match(stderr, SENTENCE, what);
          t.match(stderr, `${link} is a symbolic link, which courtd does not follow: remove it`, what);
          t.strictSame(contents(outside), before, what);
          fs.rmSync(link);
          if (fs.existsSync(away)) fs.renameSync(away, link);
        }
      }
    }
    t.match(await as('root', 'session', 'list', '--data', data), { status: 0 });
  },
);

t.test(
  'whatever root opens in the data directory, it opens as its owner: a link that is put there in between leads nowhere, too',
  { skip: skip || withoutStrace },
  async (t) => {
    const { folder, data, roots } = await venue(t);
    const empty = path.join(folder, 'empty');
    fs.mkdirSync(empty);
    fs.chownSync(empty, OWNER, GROUP);
    for (const [args, place = data] of [
      [['session', 'list']],
      [['export', 's', '-o', path.join(roots, 's.csv')]],
      [['token', 'rotate']],
      [['prune', '--older-than', '1d', '--dry-run']],
      [['backup', path.join(roots, 'b.db')]],
      [['restore', path.join(roots, 'b.db')]],
      [['restore', path.join(roots, 'b.db')], empty],
    ] as [string[], string?][]) {
      const trace = path.join(folder, 'trace');
      const calls = 'trace=openat,rename,link,unlink,chmod,fchmodat,setuid,setresuid,clone,clone3';
      const traced = ['-f', '-qq', '-o', trace, '-e', calls, BIN, ...args, '--data', place];
      t.match(await run('strace', traced), { status: 0 }, args[0]!);
      const opened = uses(trace, place);
      t.ok(opened.length > 3, `${args[0]} is seen ${opened.length} times`);
      t.strictSame([...new Set(opened.map(({ uid }) => uid))], [OWNER], args[0]!);
    }
  },
);

/** @returns the calls of a trace that name a file in the directory, and as whom the thread was. */
function uses(trace: string, directory: string): { call: string; uid: number }[] {
  const uids = new Map<string, number>();
  const found: { call: string; uid: number }[] = [];
  for (const line of fs.readFileSync(trace, 'utf8').split('\n')) {
    const [, thread = '', call = ''] = /^(\d+) +(.*)$/.exec(line) ?? [];
    const uid = /^(?:setuid\(|setresuid\(-1, )(\d+)/.exec(call)?.[1];
    if (uid !== undefined) uids.set(thread, Number(uid));
    const child = /(?:clone3?\(|resumed>).* = (\d{2,})$/.exec(call)?.[1];
    if (child !== undefined && !uids.has(child)) uids.set(child, uids.get(thread) ?? 0);
    if (call.includes(`"${directory}/`)) found.push({ call, uid: uids.get(thread) ?? 0 });
  }
  return found;
}

t.test('what lies beside a backup is not followed out of it, when root restores it', { skip }, async (t) => {
  const { folder, data, roots } = await venue(t);
  const backup = path.join(folder, 'backup.db');
  await as('root', 'backup', backup, '--data', data);
  const secret = path.join(roots, 'secret');
  fs.writeFileSync(secret, 'a secret\n');
  fs.symlinkSync(secret, `${backup}-wal`);
  const { status, stderr } = await as('root', 'restore', backup, '--data', data);
  t.equal(status, 1);
  t.match(stderr, /^courtd: \S+backup\.db-wal is a symbolic link: nothing was changed\. [^\n]+\n$/);
});

t.test('export -o as root: no link of another user is followed', { skip }, async (t) => {
  const { folder, data, roots } = await venue(t);
  const home = path.join(folder, 'home');
  fs.mkdirSync(home);
  fs.chownSync(home, THIRD, THIRD);
  const precious = path.join(roots, 'precious');
  fs.writeFileSync(precious, 'mine\n');
  for (const [i, to] of [precious, path.join(roots, 'new'), '/dev/null'].entries()) {
    const link = path.join(home, `${i}.csv`);
    fs.symlinkSync(to, link);
    fs.lchownSync(link, THIRD, THIRD);
    const { status, stderr } = await as('root', 'export', 's', '-o', link, '--data', data);
    t.equal(status, 1, to);
    t.match(stderr, /^courtd: \S+\.csv is a symbolic link of another user: remove it, or name its target/);
  }
  const above = path.join(home, 'above');
  fs.symlinkSync(roots, above);
  fs.lchownSync(above, THIRD, THIRD);
  for (const place of [
    ['-o', path.join(above, 'precious')],
    ['--since', '2000-01-01', '-o', above],
    ['--since', '2000-01-01', '-o', `${above}/new/`],
  ]) {
    const session = place.includes('--since') ? [] : ['s'];
    const { status, stderr } = await as('root', 'export', ...session, ...place, '--data', data);
    t.equal(status, 1, place.join(' '));
    t.match(stderr, /^courtd: \S+\/above is a symbolic link of another user: /);
  }
  t.strictSame(fs.readdirSync(roots), ['precious']);
  t.equal(fs.readFileSync(precious, 'utf8'), 'mine\n');
  const piped = ['-c', 'exec "$0" "$@" -o /dev/stdout | cat', BIN, 'export', 's', '--data', data];
  t.match(await run('/bin/sh', piped), { status: 0, stdout: /^session_id,/, stderr: /\/dev\/stdout/ });
  const file = path.join(home, 'plain.csv');
  t.match(await as('root', 'export', 's', '-o', file, '--data', data), { status: 0 });
  t.ok(fs.statSync(file).size > 0);
});

t.test('root writes a backup as the owner of its place', { skip }, async (t) => {
  const { folder, data, roots } = await venue(t);
  const place = (name: string, uid: number, gid: number, mode: number) => {
    const directory = path.join(folder, name);
    fs.mkdirSync(directory);
    fs.chownSync(directory, uid, gid);
    fs.chmodSync(directory, mode);
    return directory;
  };
  const cases: [directory: string, uid: number, gid: number][] = [
    [roots, 0, 0],
    [place('open', 0, 0, 0o755), 0, 0],
    [place('third', THIRD, THIRD, 0o700), THIRD, THIRD],
    [place('own', OWNER, GROUP, 0o2770), OWNER, GROUP],
    // As root it could be led astray there.
    [place('shared', 0, GROUP, 0o2770), OWNER, GROUP],
    [place('anyone', 0, 0, 0o1777), OWNER, GROUP],
  ];
  for (const [directory, uid, gid] of cases) {
    fs.writeFileSync(path.join(directory, '.courtd-20200101T000000Z.db.99999999.partial'), '');
    if (uid !== 0) fs.lchownSync(path.join(directory, fs.readdirSync(directory)[0]!), uid, gid);
    const { status, stderr } = await as('root', 'backup', directory, '--keep', '1', '--data', data);
    t.equal(status, 0, `${directory}: ${stderr}`);
    const [name, ...others] = fs.readdirSync(directory);
    t.match(fs.statSync(path.join(directory, name!)), { uid, gid }, directory);
    t.strictSame(others, [], directory);
    t.match(await as('root', 'restore', path.join(directory, name!), '--data', data), { status: 0 });
  }
});

t.test('root writes a backup as an owner who has no way to the database himself', { skip }, async (t) => {
  const { folder, data } = await venue(t);
  const [home, place] = [path.join(folder, 'home'), path.join(folder, 'place')];
  fs.mkdirSync(home, { mode: 0o700 });
  fs.chownSync(home, OWNER, GROUP);
  fs.renameSync(data, path.join(home, 'data'));
  fs.mkdirSync(place, { mode: 0o700 });
  fs.chownSync(place, THIRD, THIRD);
  const { status, stderr } = await as('root', 'backup', place, '--data', path.join(home, 'data'));
  t.equal(status, 0, stderr);
  t.match(fs.statSync(path.join(place, fs.readdirSync(place)[0]!)), { uid: THIRD, gid: THIRD });
});

t.test(
  'a member whose files the daemon could not open is refused before anything changes, and told what to do',
  { skip },
  async (t) => {
    const { data, roots } = await venue(t, 0o770);
    const backup = path.join(roots, 'backup.db');
    t.match(await as('root', 'backup', backup, '--data', data), { status: 0 });
    fs.chmodSync(roots, 0o755);
    fs.chmodSync(backup, 0o644);
    const before = contents(data);
    for (const args of [
      ['restore', backup],
      ['token', 'rotate'],
      ['export', 's'],
    ]) {
      const { status, stdout, stderr } = await as('member', ...args, '--data', data);
      t.strictSame({ status, stdout }, { status: 1, stdout: '' }, args[0]!);
      t.match(
        stderr,
        /^courtd: The daemon could not open the files that you create in \S+: use sudo, or .*"sudo chmod g\+s /,
      );
    }
    t.strictSame(contents(data), before);
    fs.chmodSync(data, 0o2770);
    t.match(await as('member', 'restore', backup, '--data', data), { status: 0 });
    t.match(await as('owner', 'session', 'list', '--data', data), { status: 0 });
  },
);

t.test(
  'a file that the daemon cannot open: who, how to fix it, and that this fixes it',
  { skip },
  async (t) => {
    const { data } = await venue(t);
    const file = path.join(data, 'courtd.db');
    fs.chownSync(file, 0, 0);
    fs.chmodSync(file, 0o600);
    for (const who of ['owner', 'root', 'member'] as const) {
      const { status, stderr } = await as(who, 'session', 'list', '--data', data);
      t.equal(status, 1, who);
      const advice =
        /^courtd: \S+courtd\.db is not accessible to this user: [^\n]*\("(sudo chown [^"]+)"\)\.\n$/.exec(
          stderr,
        );
      t.ok(advice !== null, stderr);
      if (who !== 'member') continue;
      await run('/bin/sh', ['-c', advice![1]!.replaceAll('sudo ', '')]);
      t.match(await as('owner', 'session', 'list', '--data', data), { status: 0 });
    }
  },
);

t.test('root does not work in a directory of its own that others may write to', { skip }, async (t) => {
  const folder = temporaryFolder(t);
  const data = path.join(folder, 'data');
  fs.mkdirSync(data);
  fs.chownSync(data, 0, GROUP);
  fs.chmodSync(data, 0o2770);
  const { status, stderr } = await courtd(['token', 'rotate', '--data', data]);
  t.equal(status, 1);
  t.match(
    stderr,
    /^courtd: \S+ belongs to root, and other users may write to it, [^\n]+"sudo chown courtd \S+"[^\n]+\n$/,
  );
  t.strictSame(fs.readdirSync(data), []);
});

import { createHash, X509Certificate } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { makePair } from '../harness/certificates.ts';
import { courtd, Daemon, temporaryFolder } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { commandInProcess, runInProcess } from '../harness/inProcess.ts';
import { serveAgain } from '../harness/servingAgain.ts';

runInProcess();
serveAgain();

interface Row {
  readonly id: number;
  readonly state: string;
  readonly created_at: string;
  readonly expires_at: string | null;
  readonly last_used_at: string | null;
  readonly last_used_from: string | null;
}

async function rotate(data: string, ...args: string[]): Promise<string> {
  const { status, stdout, stderr } = await courtd(['token', 'rotate', '--data', data, ...args]);
  if (status !== 0) throw new Error(stderr);
  return stdout.trim();
}

async function rows(data: string): Promise<Row[]> {
  return JSON.parse((await courtd(['token', 'list', '--json', '--data', data])).stdout);
}

/** Seconds from the newest token's birth to the end of another one. */
function graceOf(older: Row | undefined, newest: Row | undefined): number {
  return (Date.parse(older?.expires_at ?? '') - Date.parse(newest?.created_at ?? '')) / 1000;
}

t.test(
  'a start takes the first token from COURTD_TOKEN_FILE, once, and fails without a token in it',
  async (t) => {
    const folder = temporaryFolder(t);
    const [file, data] = [path.join(folder, 'token'), path.join(folder, 'data')];
    const token = 'x'.repeat(32);
    const serve = () =>
      commandInProcess(['serve', '--port', '0', '--data', data], { COURTD_TOKEN_FILE: file });
    for (const text of [undefined, '', token.slice(1), `${token}\n\n`, `${token} `]) {
      if (text !== undefined) fs.writeFileSync(file, text);
      t.match(
        await serve(),
        { status: 1, stderr: /token \(COURTD_TOKEN_FILE\) .*Write 32 to 256/ },
        `${text}`,
      );
    }
    fs.writeFileSync(file, `${token}\n`);
    const daemon = await Daemon.run(t, data, token, [], { COURTD_TOKEN_FILE: file });
    t.equal((await daemon.post(event())).status, 202);
    t.equal((await rows(data))[0]?.state, 'active');
  },
);

t.test('the data directory and every file in it are closed to others, whatever the umask', async (t) => {
  const usual = process.umask(0);
  t.teardown(() => process.umask(usual));
  const daemon = await Daemon.start(t, [], path.join(temporaryFolder(t), 'data'));
  t.equal((await daemon.post(event())).status, 202);
  const names = fs.readdirSync(daemon.data);
  t.ok(names.includes('courtd.db-wal') && names.includes('courtd.lock'));
  for (const file of ['.', ...names])
    t.equal(fs.statSync(path.join(daemon.data, file)).mode & 0o007, 0, file);
});

t.test('the grace is 0 or a whole number with s, m, h or d, and 24h unless it is given', async (t) => {
  const forms: [args: string[], seconds: number][] = [
    [[], 86_400],
    [['--grace', '0'], 0],
    [['--grace', '0s'], 0],
    [['--grace', '90s'], 90],
    [['--grace=5m'], 300],
    [['--grace', '48h'], 172_800],
    [['--grace', '7d'], 604_800],
    [['--grace', '1000000d'], 86_400e6],
  ];
  const check = async ([args, seconds]: (typeof forms)[number]) => {
    const data = temporaryFolder(t);
    await rotate(data);
    await rotate(data, ...args);
    const [older, newest] = await rows(data);
    t.equal(graceOf(older, newest), seconds, args.join(' '));
    t.equal(older?.state, seconds === 0 ? 'expired' : 'retiring', args.join(' '));
  };
  await Promise.all(forms.map(check));
});

t.test('a rotation never lengthens an earlier grace, but can shorten it', async (t) => {
  const data = temporaryFolder(t);
  await rotate(data);
  await rotate(data, '--grace', '1h');
  const [first] = await rows(data);
  await rotate(data, '--grace', '7d');
  const [again, second, third] = await rows(data);
  t.strictSame(again, first);
  t.equal(graceOf(second, third), 604_800);
  await rotate(data, '--grace', '1m');
  const shortened = await rows(data);
  t.strictSame(
    shortened.slice(0, 3).map((row) => graceOf(row, shortened[3])),
    [60, 60, 60],
  );
});

t.test(
  'a token is nowhere but on standard output: not in a list, not in a file, not in the log',
  async (t) => {
    const daemon = await Daemon.start(t, ['--log-level', 'trace']);
    const newest = await rotate(daemon.data);
    t.equal((await daemon.post(event(), { Authorization: `Bearer ${newest}` })).status, 202);
    t.equal((await daemon.post(event())).status, 202);
    const lists = [await daemon.command('token', 'list'), await daemon.command('token', 'list', '--json')];
    const files = fs.readdirSync(daemon.data).filter((name) => name !== 'control.sock');
    t.ok(files.includes('courtd.db-wal'), 'the log of the database is looked into as well');
    for (const token of [daemon.token, newest]) {
      for (const { stdout, stderr } of lists) t.notOk((stdout + stderr).includes(token));
      for (const form of [Buffer.from(token), Buffer.from(token, 'base64url')]) {
        for (const file of files) t.notOk(fs.readFileSync(path.join(daemon.data, file)).includes(form), file);
      }
      t.notOk(JSON.stringify(daemon.log).includes(token));
    }
  },
);

t.test('the last use of a token is written with a commit: when, and from which address', async (t) => {
  const daemon = await Daemon.start(t);
  t.equal((await daemon.post('{}')).status, 400);
  t.match(await rows(daemon.data), [{ last_used_at: null, last_used_from: null }]);
  const before = Date.now();
  t.equal((await daemon.post(event())).status, 202);
  const [used] = await rows(daemon.data);
  const at = Date.parse(used?.last_used_at ?? '');
  t.ok(at >= before && at <= Date.now(), used?.last_used_at ?? 'null');
  t.equal(used?.last_used_from, '127.0.0.1');
});

t.test(
  'with TLS rotate says https, and the fingerprint by which a camera may know the certificate',
  async (t) => {
    const { cert, key } = makePair(temporaryFolder(t), 'box');
    const fingerprint = createHash('sha256')
      .update(new X509Certificate(fs.readFileSync(cert)).raw)
      .digest('hex');
    const daemon = await Daemon.start(t, ['--tls-cert', cert, '--tls-key', key]);
    const running = await courtd(['token', 'rotate', '--data', daemon.data]);
    const env = { COURTD_HOST: '::', COURTD_TLS_CERT: cert, COURTD_TLS_KEY: key };
    const down = await courtd(['token', 'rotate', '--data', temporaryFolder(t)], env);
    t.match(running.stderr, `\n  https://127.0.0.1:${daemon.port} (this machine only)\n`);
    t.match(down.stderr, /\n {2}https:\/\/\S+:4000( \(this machine only\))?\n/);
    for (const { status, stdout, stderr } of [running, down]) {
      t.equal(status, 0);
      t.match(stdout, /^[A-Za-z0-9_-]{43}\n$/);
      t.match(stderr, `\nSHA-256 fingerprint of the certificate: ${fingerprint}\n`);
    }
  },
);

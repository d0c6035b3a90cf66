import { once } from 'node:events';
import fs from 'node:fs';
import http, { type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { DataDirectory } from '../../src/base/dataDirectory.ts';
import { LocalFeed } from '../../src/fleet/feed/localFeed.ts';
import { type AlertMessage, testMessage } from '../../src/health/alert/alertMessage.ts';
import { targetsOf } from '../../src/health/alert/alertTargets.ts';
import type { CheckResult } from '../../src/health/finding.ts';
import { BIN, courtd, Daemon, start, temporaryFolder } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { stoppedBox } from '../harness/scratchStore.ts';
import { serveAgain } from '../harness/servingAgain.ts';

runInProcess();
serveAgain();

/** `courtd alert`: what a webhook, a command and a dead-man's switch get of a real daemon. */

interface Received {
  readonly method: string;
  readonly url: string;
  readonly type: string | undefined;
  readonly authorization: string | undefined;
  readonly body: string;
}

/** Answers as it is told to, and keeps what it got. */
class Hook {
  readonly received: Received[] = [];
  status: (request: Received) => number = () => 200;
  headers: Record<string, string> = {};
  url = '';
  /** Once the first request is here. */
  readonly heard: Promise<void>;
  #hears = () => {};

  private constructor() {
    this.heard = new Promise((resolve) => {
      this.#hears = resolve;
    });
  }

  static async start(t: Test): Promise<Hook> {
    const hook = new Hook();
    const server = http.createServer(async (req: IncomingMessage, res) => {
      const { method = '', url = '', headers } = req;
      const { 'content-type': type, authorization } = headers;
      const received = { method, url, type, authorization, body: await text(req) };
      hook.received.push(received);
      hook.#hears();
      res.writeHead(hook.status(received), hook.headers).end('x'.repeat(100_000));
    });
    server.listen({ host: '127.0.0.1', port: 0 });
    await once(server, 'listening');
    t.teardown(() => server.close());
    hook.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return hook;
  }

  get messages(): AlertMessage[] {
    return this.received.map(({ body }) => JSON.parse(body));
  }
}

const codes = (problems: readonly { code: string }[]) => problems.map(({ code }) => code);

t.test(
  '--once: what is wrong is told once, and that it is solved; a daemon that runs says so itself',
  async (t) => {
    const hook = await Hook.start(t);
    const daemon = await Daemon.run(t, temporaryFolder(t), '');
    const args = ['alert', '--once', '--data', daemon.data, '--state', temporaryFolder(t), '--url', hook.url];
    const first = await courtd(args);
    t.match(first, { status: 0, stdout: '', stderr: /COURTD_ALERT_URL has been told: 2 new, 0 solved/ });
    const [message] = hook.messages;
    t.match(hook.received[0], { method: 'POST', type: 'application/json' });
    t.strictSame(Object.keys(message!), ['box', 'at', 'state', 'text', 'new', 'solved']);
    t.match(message, {
      state: 'failing',
      text: /\nThere is no token: every request is refused\. Make one with /,
    });
    t.strictSame(codes(message!.new), ['no_token', 'new_database']);
    t.strictSame(Object.keys(message!.new[0]!), ['code', 'level', 'message', 'advice']);
    t.match(await courtd(args), { status: 0, stderr: '' });
    t.equal(hook.received.length, 1, 'nothing new');
  },
);

t.test(
  'a stopped daemon is told; a webhook that fails gets it with the next look, the command has it already',
  async (t) => {
    const hook = await Hook.start(t);
    hook.status = () => 503;
    const { data } = stoppedBox(t);
    const folder = temporaryFolder(t);
    const file = path.join(folder, 'message');
    const command = `cat >> ${file}; env >> ${file}.env`;
    const args = ['alert', '--once', '--data', data, '--state', path.join(folder, 'state')];
    const env = { COURTD_ALERT_URL: `${hook.url}/secret`, COURTD_ALERT_COMMAND: command };
    const first = await courtd(args, env);
    t.equal(first.status, 1);
    t.match(first.stderr, /COURTD_ALERT_URL did not take the message: it answered 503\./);
    t.notMatch(first.stderr, /secret/, 'the address of a webhook is a secret');
    hook.status = () => 200;
    t.match(await courtd(args, env), { status: 0 });
    t.strictSame(
      hook.messages.map(({ state, new: found }) => [state, ...codes(found)]),
      [
        ['stopped', 'daemon_stopped'],
        ['stopped', 'daemon_stopped'],
      ],
    );
    t.strictSame(
      codes(JSON.parse(fs.readFileSync(file, 'utf8')).new),
      ['daemon_stopped'],
      'the command got one',
    );
    t.notMatch(fs.readFileSync(`${file}.env`, 'utf8'), /COURTD_/, 'and none of the settings');
  },
);

t.test('what a camera has sent is not told to anybody: it may be the name of a player', async (t) => {
  const hook = await Hook.start(t);
  const daemon = await Daemon.start(t);
  const named = event({ event_id: 'evt-of-maria-001', payload: { x_ft: 'Maria Musterfrau' } });
  t.equal((await daemon.post([named])).status, 400);
  t.match((await courtd(['status', '--data', daemon.data])).stdout, /Maria/, 'on the box it is said');
  const args = ['alert', '--once', '--data', daemon.data, '--state', temporaryFolder(t), '--url', hook.url];
  t.match(await courtd(args), { status: 0 });
  const [{ body = '' } = {}] = hook.received;
  t.match(
    JSON.parse(body).text,
    /camera-1 on court-1: refused once, last \S+ s ago\. Tell the vendor .* "courtd rejections"/,
  );
  t.notMatch(body, /maria/i);
  const feed = new LocalFeed(new DataDirectory(daemon.data));
  t.teardown(() => feed.close());
  const status = JSON.stringify(await feed.status());
  t.match(status, 'camera-1 on court-1: refused once');
  t.notMatch(status, /maria/i, 'nor to headquarters');
});

t.test('a command that fails, an address that leads nowhere, a state that cannot be kept', async (t) => {
  const { data } = stoppedBox(t);
  const folder = temporaryFolder(t);
  const run = (...args: string[]) => courtd(['alert', '--once', '--data', data, ...args]);
  const state = ['--state', folder];
  t.match(await run(...state, '--command', 'exit 7'), { status: 1, stderr: /it ended with exit status 7/ });
  t.match(await run(...state, '--url', 'http://127.0.0.1:1'), { status: 1, stderr: /it cannot be reached/ });
  t.match(await run(...state), { status: 2, stderr: /Nobody is to be told: set COURTD_ALERT_URL/ });
  t.match(await run('--url', 'http://127.0.0.1:1'), { status: 2, stderr: /--state DIR/ });
  t.match(await run(...state, '--url', 'ftp://host/'), { status: 2, stderr: /http:\/\/ or https:\/\// });
  const file = path.join(folder, 'file');
  fs.writeFileSync(file, '');
  t.match(await run('--state', file, '--command', 'true'), { status: 1, stderr: /courtd: .*file/ });
});

t.test('a redirection has told nobody; a name and a password in the address are sent', async (t) => {
  const hook = await Hook.start(t);
  hook.status = ({ url }) => (url === '/old' ? 302 : 200);
  hook.headers = { Location: '/login' };
  const { data } = stoppedBox(t);
  const run = (url: string) =>
    courtd(['alert', '--once', '--data', data, '--state', temporaryFolder(t), '--url', url]);
  t.match(await run(`${hook.url}/old`), { status: 1, stderr: /it answered 302, which leads elsewhere/ });
  t.match(await run(hook.url.replace('//', '//me:p%40ss@')), { status: 0 });
  t.match(hook.received, [
    { method: 'POST', url: '/old', authorization: undefined },
    { method: 'POST', url: '/', authorization: `Basic ${btoa('me:p@ss')}` },
  ]);
  t.match(await run('http://me:%zz@127.0.0.1:1/'), { status: 1, stderr: /it cannot be reached/ });
  t.match(await run('http://127.0.0.1:6667/'), { status: 1, stderr: /\(bad port\)/ });
});

t.test('a state that is damaged, or cannot be kept, keeps nobody from being told', async (t) => {
  const hook = await Hook.start(t);
  const { data } = stoppedBox(t);
  const folder = temporaryFolder(t);
  const run = (state: string) =>
    courtd(['alert', '--once', '--data', data, '--state', state, '--url', hook.url]);
  const damaged = ['null', '{"url":null}', '{"url":{"problems":[null]}}', '{"url":{"problems":5}}', '\0\0'];
  for (const told of damaged) {
    fs.writeFileSync(path.join(folder, 'told.json'), told);
    t.match(await run(folder), { status: 0, stderr: /has been told: 1 new/ }, JSON.stringify(told));
  }
  // Nobody can make a file there.
  t.match(await run('/proc/self'), {
    status: 1,
    stderr: /Cannot write to \/proc\/self\/told\.json[\s\S]*has been told: 1 new/,
  });
  t.equal(hook.received.length, damaged.length + 1);
});

t.test('a command that hangs ends with all that it has started', async (t) => {
  const file = path.join(temporaryFolder(t), 'pid');
  const [target] = targetsOf({ command: `sh -c 'echo $$ > ${file}; exec sleep 1000' | cat` }, 500);
  t.equal(await target!.send(testMessage('venue-7', 0)), 'it did not end within 0.5 s');
  const pid = Number(fs.readFileSync(file, 'utf8'));
  const isThere = () => fs.existsSync(`/proc/${pid}/exe`);
  // Init collects it, when it comes to that.
  while (isThere()) await sleep(10);
});

t.test(
  "the dead-man's switch hears of a box that is well, and not of one that fails or is stopped",
  async (t) => {
    const hook = await Hook.start(t);
    const well = await Daemon.start(t);
    const failing = await Daemon.run(t, temporaryFolder(t), '');
    const { data } = stoppedBox(t);
    for (const box of [well.data, failing.data, data]) {
      const { status } = await courtd([
        'alert',
        '--once',
        '--data',
        box,
        '--state',
        temporaryFolder(t),
        '--ping',
        hook.url,
      ]);
      t.equal(status, 0);
    }
    t.match(hook.received, [{ method: 'GET', body: '' }]);
    hook.status = () => 500;
    const deaf = await courtd([
      'alert',
      '--once',
      '--data',
      well.data,
      '--state',
      temporaryFolder(t),
      '--ping',
      hook.url,
    ]);
    t.match(deaf, { status: 1, stderr: /COURTD_PING_URL does not hear this box: it answered 500/ });
  },
);

t.test('it goes on until a signal ends it', async (t) => {
  const hook = await Hook.start(t);
  const { data } = await Daemon.start(t);
  const state = temporaryFolder(t);
  const child = start(BIN, ['alert', '--data', data, '--state', state, '--ping', hook.url]);
  const exited = once(child, 'exit');
  await hook.heard;
  child.kill('SIGTERM');
  t.strictSame(await exited, [0, null]);
});

t.test('check --alert sends a test that says so, and says who did not take it', async (t) => {
  const hook = await Hook.start(t);
  const daemon = await Daemon.start(t);
  const check = async (env: Record<string, string>) => {
    const { stdout } = await courtd(['check', '--alert', '--json', '--data', daemon.data], env);
    return (JSON.parse(stdout) as CheckResult[]).find(({ name }) => name === 'alert');
  };
  t.match(await check({ COURTD_ALERT_URL: hook.url }), {
    level: 'ok',
    message: /^COURTD_ALERT_URL took the test/,
  });
  t.match(hook.messages[0], { text: /This is a test of courtd's alert/, new: [], solved: [] });
  hook.status = () => 404;
  const failed = await check({ COURTD_ALERT_URL: hook.url, COURTD_ALERT_COMMAND: 'true' });
  t.match(failed, { level: 'fail', message: 'COURTD_ALERT_URL did not take the test: it answered 404.' });
  t.match(await check({}), { level: 'warn', message: /^Nobody is told/ });
});

/** What those expect whom the guide names: https://api.slack.com/messaging/webhooks, https://docs.ntfy.sh/publish, https://healthchecks.io/docs. */
const TAKERS: Readonly<Record<string, (request: Received) => boolean>> = {
  'hooks.slack.com': ({ method, type, body }) =>
    method === 'POST' && type === 'application/json' && typeof JSON.parse(body).text === 'string',
  'ntfy.sh': ({ method, url, body }) => {
    const query = new URL(url, 'http://ntfy').searchParams;
    const members = ['title', 'message'].map((name) => /^\{\{\.(\w+)\}\}$/.exec(query.get(name) ?? '')?.[1]);
    const isText = (member = '') => typeof JSON.parse(body)[member] === 'string';
    return method === 'POST' && query.get('tpl') === 'yes' && members.every(isText);
  },
  'hc-ping.com': ({ method, url }) => method === 'GET' && /^\/[0-9a-f-]{36}$/.test(url),
};

t.test('each address in the guide does what its server expects', async (t) => {
  const guide = fs.readFileSync(path.resolve(import.meta.dirname, '../../systemd/ALERT.md'), 'utf8');
  const lines = [...guide.matchAll(/^ {4}(COURTD_\w+_URL)=(\S+)$/gm)];
  t.equal(lines.length, Object.keys(TAKERS).length);
  const hook = await Hook.start(t);
  const daemon = await Daemon.run(t, temporaryFolder(t), '');
  const well = await Daemon.start(t);
  for (const [, variable = '', address = ''] of lines) {
    const { host } = new URL(address);
    hook.status = (request) => (TAKERS[host]?.(request) ? 200 : 400);
    const data = variable === 'COURTD_PING_URL' ? well.data : daemon.data;
    const env = { [variable]: address.replace(`https://${host}`, hook.url) };
    const before = hook.received.length;
    const { status, stderr } = await courtd(
      ['alert', '--once', '--data', data, '--state', temporaryFolder(t)],
      env,
    );
    t.equal(status, 0, `${host} ${stderr}`);
    t.equal(hook.received.length, before + 1);
  }
});

import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { Alert, type AlertMessage } from '../../src/health/alertMessage.ts';
import type { StatusProblem } from '../../src/health/problems.ts';
import { BIN, courtd, Daemon, start, temporaryFolder } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { serveAgain } from '../harness/servingAgain.ts';

runInProcess();
serveAgain();

const MINUTE = 60_000;

/** A webhook with given answers, which keeps what it was sent. */
async function hookOf(t: Test) {
  const received: { method?: string; url?: string; headers: http.IncomingHttpHeaders; body: string }[] = [];
  const hook = {
    received,
    status: 200,
    url: '',
    messages: () => received.map(({ body }) => JSON.parse(body) as AlertMessage),
  };
  const server = http.createServer(async (req, res) => {
    const { method = '', url = '', headers } = req;
    received.push({ method, url, headers, body: await text(req) });
    res.writeHead(hook.status, { Location: '/login' }).end();
  });
  server.listen({ host: '127.0.0.1', port: 0 });
  await once(server, 'listening');
  t.teardown(() => server.close());
  hook.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return hook;
}

const silent = (source: string, message = 'silent for 3 min 40 s'): StatusProblem => ({
  code: 'source_silent',
  level: 'warn',
  message: `${source} on court-1: ${message} while its court plays.`,
  advice: 'Look at its cable.',
});
const FULL: StatusProblem = {
  code: 'disk_full',
  level: 'fail',
  message: 'The disk is full.',
  advice: 'Prune.',
};

/** An alert whose box says what `say` is given, and whose clock is moved by `look`. */
function alertOf(t: Test, settings: NodeJS.ProcessEnv) {
  const runDir = temporaryFolder(t);
  const file = path.join(runDir, 'status.json');
  const logged: string[] = [];
  const env = { COURTD_SHIP_BOX: 'venue-7', STATE_DIRECTORY: temporaryFolder(t), ...settings };
  const make = () => new Alert(runDir, env, (sentence) => logged.push(sentence));
  let [alert, nowMs] = [make(), 0];
  return {
    logged,
    file,
    say: (...problems: StatusProblem[]) => {
      const state = problems.length === 0 ? 'ok' : problems.includes(FULL) ? 'failing' : 'attention';
      fs.writeFileSync(file, JSON.stringify({ state, problems, daemon: { started_at: 'today' } }));
    },
    /** Looks once a minute, so many times. */
    look: async (times = 1) => {
      for (let i = 0; i < times; i++, nowMs += MINUTE) await alert.look(nowMs);
    },
    restart: () => {
      alert = make();
    },
  };
}

const told = ({ new: now, solved }: AlertMessage) => [
  now.map(({ message }) => message),
  solved.map(({ message }) => message),
];

t.test('a problem that lasts a minute is sent once, and once that it is solved', async (t) => {
  const hook = await hookOf(t);
  const { say, look, restart } = alertOf(t, { COURTD_ALERT_URL: hook.url });
  say(silent('cam-1'));
  await look();
  t.equal(hook.received.length, 0);
  await look();
  t.match(hook.received[0], { method: 'POST', headers: { 'content-type': 'application/json' } });
  const [message] = hook.messages();
  t.strictSame(Object.keys(message!), ['box', 'at', 'state', 'text', 'new', 'solved']);
  t.match(message, { box: 'venue-7', state: 'attention', text: /^venue-7\ncam-1 on court-1: .* Look at/ });
  t.strictSame(message!.new, [silent('cam-1')]);
  say(silent('cam-1', 'silent for 2 h'));
  await look(10);
  restart();
  await look(10);
  t.equal(hook.received.length, 1, 'what changes in the sentence, and a restart, send nothing');
  say();
  await look(1);
  say(silent('cam-1'));
  await look(5);
  t.equal(hook.received.length, 1, 'what is gone for a moment is not solved');
  say();
  await look(2);
  t.strictSame(hook.messages().slice(1).map(told), [[[], [silent('cam-1').message]]]);
});

t.test('what changes within five minutes of a message is sent together', async (t) => {
  const hook = await hookOf(t);
  const { say, look } = alertOf(t, { COURTD_ALERT_URL: hook.url });
  say(silent('cam-1'));
  await look(2);
  say(silent('cam-1'), silent('cam-2'));
  await look(2);
  say(silent('cam-1'), silent('cam-2'), FULL);
  await look(2);
  t.equal(hook.received.length, 1);
  await look();
  t.strictSame(
    hook.messages()[1]!.new.map(({ code }) => code),
    ['source_silent', 'disk_full'],
  );
  t.equal(hook.received.length, 2);
});

t.test('a message that was not accepted is tried again each minute, as things are then', async (t) => {
  const hook = await hookOf(t);
  hook.status = 503;
  const { say, look, logged } = alertOf(t, { COURTD_ALERT_URL: `${hook.url}/secret` });
  say(silent('cam-1'));
  await look(4);
  t.equal(hook.received.length, 3);
  t.match(logged[0], /503/);
  t.notMatch(logged.join(), /secret/, 'the address of a webhook is a secret');
  hook.status = 302;
  await look();
  t.equal(hook.received.length, 4, 'a redirect is not followed, and accepts nothing');
  hook.status = 200;
  say(FULL);
  await look(2);
  t.strictSame(hook.messages().at(-1)!.new, [FULL]);
});

t.test('nothing is solved in the first five minutes after a start, nor in quiet hours', async (t) => {
  const hook = await hookOf(t);
  const { say, look, restart } = alertOf(t, { COURTD_ALERT_URL: hook.url });
  say(silent('cam-1'));
  await look(2);
  restart();
  say();
  await look(5);
  t.equal(hook.received.length, 1);
  await look();
  t.strictSame(hook.messages().slice(1).map(told), [[[], [silent('cam-1').message]]]);
  const [from, to] = [-1, 1].map((hours) => new Date(Date.now() + hours * 60 * MINUTE).toTimeString());
  const COURTD_QUIET = `${from!.slice(0, 5)}-${to!.slice(0, 5)}`;
  const night = alertOf(t, { COURTD_ALERT_URL: hook.url, COURTD_QUIET });
  night.say(silent('cam-1'));
  await night.look(10);
  night.say();
  await night.look(10);
  t.equal(hook.received.length, 3, 'only what is new');
});

t.test('no status.json is a problem, an old one is another, and neither solves what was there', async (t) => {
  const hook = await hookOf(t);
  const { say, look, file } = alertOf(t, { COURTD_ALERT_URL: hook.url });
  say(FULL);
  await look(7);
  const old = Date.now() / 1_000 - 121;
  fs.utimesSync(file, old, old);
  await look(7);
  fs.rmSync(file);
  await look(7);
  t.strictSame(
    hook.messages().map(({ state, new: now, solved }) => [state, now.map(({ code }) => code), solved.length]),
    [
      ['failing', ['disk_full'], 0],
      ['failing', ['daemon_hangs'], 0],
      ['stopped', ['daemon_stopped'], 0],
    ],
  );
});

t.test(
  'the command gets the message, and none of the settings; one that hangs does not keep the URL from it',
  async (t) => {
    const folder = temporaryFolder(t);
    process.env.COURTD_ALERT_URL = 'https://secret.example';
    const { say, look } = alertOf(t, {
      COURTD_ALERT_COMMAND: `cat > ${folder}/message; env > ${folder}/env`,
    });
    say(FULL);
    await look(2);
    t.strictSame(JSON.parse(fs.readFileSync(`${folder}/message`, 'utf8')).new, [FULL]);
    t.notMatch(fs.readFileSync(`${folder}/env`, 'utf8'), /COURTD_/);
    const failing = alertOf(t, { COURTD_ALERT_COMMAND: 'exit 7' });
    failing.say(FULL);
    await failing.look(3);
    t.match(failing.logged, [/exit status 7/, /exit status 7/]);
  },
);

t.test('the ping is fetched every five minutes while the box is not failing', async (t) => {
  const hook = await hookOf(t);
  const { say, look, file } = alertOf(t, { COURTD_PING_URL: hook.url });
  say(silent('cam-1'));
  await look(6);
  t.match(hook.received, [{ method: 'GET' }, { method: 'GET' }]);
  say(FULL);
  await look(10);
  fs.rmSync(file);
  await look(10);
  t.equal(hook.received.length, 2);
  hook.status = 500;
  say();
  await look(2);
  t.equal(hook.received.length, 4, 'one that failed is fetched again');
});

t.test(
  'a long message is cut to what a chat accepts; a name and a password of the address are sent',
  async (t) => {
    const hook = await hookOf(t);
    const { say, look } = alertOf(t, { COURTD_ALERT_URL: hook.url.replace('//', '//me:p%40ss@') });
    say(...Array.from({ length: 200 }, (_, i) => silent(`Kamera-ü-${i}`)));
    await look(2);
    const [{ text, new: now }] = hook.messages() as [AlertMessage];
    t.equal(now.length, 200);
    t.ok(Buffer.byteLength(text) <= 4_096, `${Buffer.byteLength(text)} bytes`);
    t.equal(hook.received[0]!.headers.authorization, `Basic ${btoa('me:p@ss')}`);
  },
);

t.test(
  'the daemon writes what status --json prints, for every user to read, and removes it when it ends',
  async (t) => {
    const runDir = temporaryFolder(t);
    const daemon = await Daemon.start(t, ['--run-dir', runDir]);
    const file = path.join(runDir, 'status.json');
    t.strictSame(fs.readdirSync(runDir).sort(), ['metrics.prom', 'status.json']);
    t.equal(fs.statSync(file).mode & 0o777, 0o644);
    const written = JSON.parse(fs.readFileSync(file, 'utf8'));
    const printed = JSON.parse((await daemon.command('status', '--json')).stdout);
    t.strictSame(Object.keys(written), Object.keys(printed));
    t.strictSame(written.daemon, printed.daemon);
    t.strictSame(
      written.problems.map(({ code }: StatusProblem) => code),
      printed.problems.map(({ code }: StatusProblem) => code),
    );
    await daemon.stop();
    t.strictSame(fs.readdirSync(runDir), []);
  },
);

t.test('what a camera has sent is not in status.json: it may be the name of a player', async (t) => {
  const runDir = temporaryFolder(t);
  const daemon = await Daemon.start(t, ['--run-dir', runDir]);
  const named = event({ event_id: 'evt-of-maria-001', payload: { x_ft: 'Maria Musterfrau' } });
  t.equal((await daemon.post([named])).status, 400);
  await daemon.stop();
  // It is written at a start, too, with what was true before.
  await Daemon.run(t, daemon.data, daemon.token, ['--run-dir', runDir]);
  const written = fs.readFileSync(path.join(runDir, 'status.json'), 'utf8');
  t.match(written, 'camera-1');
  t.notMatch(written, /maria/i);
});

t.test('a runtime directory that cannot be written is logged once, and events are stored', async (t) => {
  const daemon = await Daemon.start(t, ['--run-dir', '/proc/self']);
  t.equal((await daemon.post([event()])).status, 202);
  const lines = daemon.log.filter(({ msg }) => /runtime directory cannot be written/.test(msg));
  t.equal(lines.length, 1);
});

t.test(
  '--test sends one message without problems, and its exit status says whether it was accepted',
  async (t) => {
    const hook = await hookOf(t);
    const folder = temporaryFolder(t);
    const run = (env: Record<string, string>) => courtd(['alert', '--test', '--run-dir', folder], env);
    t.match(await run({ COURTD_ALERT_URL: hook.url, COURTD_SHIP_BOX: 'venue-9' }), { status: 0, stdout: '' });
    t.match(hook.messages(), [{ box: 'venue-9', new: [], solved: [], text: /test/ }]);
    fs.writeFileSync(`${folder}/courtd.env`, `COURTD_DATA=${folder}\nCOURTD_ALERT_COMMAND=exit 1\n`);
    t.equal((await run({ CONFIGURATION_DIRECTORY: folder, COURTD_DATA: folder })).status, 1);
    t.match(await run({ COURTD_ALERT_URL: 'host' }), { status: 1, stderr: 'ERR_INVALID_URL' });
    t.equal((await run({})).status, 2);
    t.equal((await courtd(['alert', '--test'], { COURTD_ALERT_COMMAND: 'true' })).status, 2);
  },
);

t.test('it continues until a signal ends it', async (t) => {
  const hook = await hookOf(t);
  const runDir = temporaryFolder(t);
  await Daemon.start(t, ['--run-dir', runDir]);
  const env = { ...process.env, COURTD_PING_URL: hook.url };
  const child = start(BIN, ['alert', '--run-dir', runDir], { env });
  const exited = once(child, 'exit');
  while (hook.received.length === 0) await sleep(10);
  child.kill('SIGTERM');
  t.strictSame(await exited, [0, null]);
});

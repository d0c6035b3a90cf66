import fs from 'node:fs';
import net from 'node:net';
import type { Command } from 'commander';
import t from 'tap';
import { loadVerbs, makeProgram } from '../../src/cli/program.ts';
import { courtd, Daemon, temporaryFolder } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { commandInProcess, runInProcess } from '../harness/inProcess.ts';
import { serveAgain } from '../harness/servingAgain.ts';

runInProcess();
serveAgain();

const SCREEN = { lines: 24, columns: 80 };

t.test('the help of each command has an example of it, and fits on a screen', async (t) => {
  const look = async (command: Command, name: string): Promise<void> => {
    for (const inner of command.commands) await look(inner, `${name} ${inner.name()}`.trim());
    if (name === '') return;
    const { stdout } = await commandInProcess([...name.split(' '), '--help']);
    const lines = stdout.trimEnd().split('\n');
    t.ok(lines.length <= SCREEN.lines, `${name}: ${lines.length} lines`);
    t.strictSame(
      lines.filter((line) => line.length > SCREEN.columns),
      [],
      name,
    );
    if (command.commands.length > 0) return;
    t.equal(lines.filter((line) => line.startsWith('  --data ')).length, 1, name);
    const example = new RegExp(`^ {2}(?:\\w.*)?courtd ${name}`);
    t.ok(
      lines.slice(lines.findIndex((line) => line.startsWith('  --data '))).some((line) => example.test(line)),
    );
  };
  await look(await loadVerbs(makeProgram()), '');
});

t.test('an empty variable counts as unset', async (t) => {
  const known = { COURTD_PORT: '1', COURTD_KEEP: '365d', COURTD_NONE: '', COURTDX: '1' };
  t.equal((await courtd(['help'], known)).stderr, '');
  const { stderr, status } = await courtd(['session', 'list'], { COURTD_DATA: '' });
  t.equal(status, 1);
  t.match(stderr, '/var/lib/courtd');
  const empty = { COURTD_VENUE: '', COURTD_PORT: '', COURTD_RATE_LIMIT: '', COURTD_BODY_LIMIT: '' };
  const daemon = await Daemon.run(t, temporaryFolder(t), '', [], { ...empty, COURTD_LOG_LEVEL: '' });
  t.match(await daemon.logged('listening'), { level: 'info', venue: null });
});

t.test('every variable of serve does what its option does, and the option wins', async (t) => {
  const set = { COURTD_VENUE: 'venue-1', COURTD_BODY_LIMIT: '1KiB', COURTD_LOG_LEVEL: 'debug' };
  const [daemon, limited] = await Promise.all([
    Daemon.start(t, [], temporaryFolder(t), set),
    Daemon.start(t, ['--venue', 'venue-2'], temporaryFolder(t), { ...set, COURTD_RATE_LIMIT: '1' }),
  ]);
  for (const sent of [event(), event()]) t.equal((await daemon.post(sent)).status, 202);
  t.equal((await daemon.post(event({ venue_id: 'venue-2' }))).status, 400);
  t.equal((await daemon.post(' '.repeat(1025))).status, 413);
  await daemon.stop();
  t.ok(daemon.log.some(({ level }) => level === 'debug'));
  // A slow machine may be given one more meanwhile: until one is refused.
  const statuses: number[] = [];
  while (statuses.length < 20 && statuses.at(-1) !== 429) {
    const answers = [0, 1, 2].map(() => limited.post(event({ venue_id: 'venue-2' })));
    statuses.push(...(await Promise.all(answers)).map(({ status }) => status).sort());
  }
  t.strictSame([...new Set(statuses)], [202, 429]);
});

t.test('a port in use ends the start with status 1', async (t) => {
  const other = net.createServer();
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  t.teardown(() => other.close());
  const { port } = other.address() as net.AddressInfo;
  const where = ['--host', '127.0.0.1', '--port', String(port)];
  const data = temporaryFolder(t);
  const { status, stderr } = await courtd(['serve', ...where, '--data', data]);
  t.equal(status, 1);
  t.match(
    stderr,
    new RegExp(
      `^courtd: Cannot listen on 127\\.0\\.0\\.1 port ${port}: another program uses it .*ss -ltnp.*\\n$`,
    ),
  );
  // What had been started by then has been stopped: the database is closed.
  const left = fs.readdirSync(data);
  t.ok(left.includes('courtd.db'));
  t.notMatch(left.join(' '), /-wal/);
});

t.test('an address of another machine, or no address, ends the start with status 1', async (t) => {
  const check = async (host: string) => {
    const where = ['--host', host, '--port', '0', '--data', temporaryFolder(t)];
    const { status, stderr } = await commandInProcess(['serve', ...where]);
    t.equal(status, 1, host);
    t.match(stderr, /^courtd: [^\n]* --host[^\n]*\n$/, host);
  };
  await Promise.all(['192.0.2.1', 'nowhere.invalid'].map(check));
});

t.test('without a token it starts, warns once and answers 401, until there is a token', async (t) => {
  const daemon = await Daemon.run(t, temporaryFolder(t), 'none');
  t.equal((await daemon.post(event())).status, 401);
  t.match(await daemon.command('token', 'list'), {
    status: 0,
    stdout: '',
    stderr: /There is no token yet/,
  });
  const { stdout } = await daemon.command('token', 'rotate');
  const headers = { Authorization: `Bearer ${stdout.trim()}` };
  t.equal((await daemon.post(event(), headers)).status, 202);
  t.equal(await daemon.stop(), 0);
  t.equal(
    daemon.timesLogged(({ problem }) => problem === 'no_token'),
    1,
  );
});

t.test('programs that wait for "listening" find it in a log of errors only', async (t) => {
  const daemon = await Daemon.start(t, ['--log-level', 'error']);
  t.strictSame(
    daemon.log.map(({ msg }) => msg),
    ['listening'],
  );
});

import fs from 'node:fs';
import net from 'node:net';
import t from 'tap';
import { courtd, Daemon, temporaryFolder } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { commandInProcess, runInProcess } from '../harness/inProcess.ts';
import { serveAgain } from '../harness/servingAgain.ts';

runInProcess();
serveAgain();

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

import { once } from 'node:events';
import net from 'node:net';
import path from 'node:path';
import t, { type Test } from 'tap';
import { DataDirectory } from '../../src/base/dataDirectory.ts';
import { askDaemon, STATUS_PATH } from '../../src/control/controlClient.ts';
import { Daemon } from '../harness/daemon.ts';
import { answer } from '../harness/faultyServer.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { stoppedBox } from '../harness/scratchStore.ts';

/** A user who may write to the data directory may answer at control.sock in the daemon's place, and root's commands ask there. */

runInProcess();

const EVIL = '\x1b]0;OWNED\x07\x1b[31m\u202e\u009b31m';
/** What a terminal would obey: nothing but line ends and colours of courtd's own may be printed. */
const OBEYED = /[^\P{Cc}\n]|\p{Bidi_Control}/u;

/** @param reply to each request, by its path. @returns what has been sent. */
async function answering(
  t: Test,
  data: string,
  reply: (socket: net.Socket, path: string) => void,
): Promise<void> {
  const sockets = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('data', (head) => reply(socket, String(head).split(' ')[1]!));
  });
  server.listen(path.join(data, 'control.sock'));
  await once(server, 'listening');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
}

/** What the screen chooses its words and colours by. */
const CHOSEN_BY = /^(sending|ok|attention|failing|warn|fail)$/;

/** With escape sequences at the end of every text that is no time. */
function poisoned(value: unknown): unknown {
  if (typeof value === 'string')
    return /^\d{4}-\d\d/.test(value) || CHOSEN_BY.test(value) ? value : `${value}${EVIL}`;
  if (Array.isArray(value)) return value.map(poisoned);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, poisoned(inner)]));
}

t.test('what answers in the place of the daemon says nothing to the terminal but words', async (t) => {
  const real = await Daemon.start(t);
  await real.post('[{}]');
  const told = await askDaemon(new DataDirectory(real.data), STATUS_PATH);
  const box = stoppedBox(t);
  await answering(t, box.data, (socket, path) =>
    socket.end(answer(200, JSON.stringify(path === STATUS_PATH ? poisoned(told) : { failed: EVIL }))),
  );
  for (const command of [['status'], ['prune', '--older-than', '1d', '--yes']]) {
    const { stdout, stderr } = await box.command(...command);
    t.match(`${stdout}${stderr}`, 'OWNED', command.join(' '));
    t.notMatch(`${stdout}${stderr}`, OBEYED, command.join(' '));
  }
});

t.test('an answer that is no JSON is none of a daemon', async (t) => {
  const box = stoppedBox(t);
  await answering(t, box.data, (socket) => socket.end(answer(200, '<html>')));
  t.match(await box.command('status', '--json'), { status: 1, stdout: /"daemon_stopped"/ });
});

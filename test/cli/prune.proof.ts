import path from 'node:path';
import Database from 'better-sqlite3';
import t from 'tap';
import { Cameras } from '../harness/cameras.ts';
import { BIN, type CommandResult, Daemon, run } from '../harness/daemon.ts';
import { events } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { ageEvents } from '../harness/scratchStore.ts';

runInProcess();

async function counts(daemon: Daemon, body: unknown): Promise<unknown> {
  return (await daemon.post(body)).json();
}

async function post(daemon: Daemon, count: number, overrides: Record<string, unknown>) {
  const sent = events(count, overrides);
  for (let at = 0; at < count; at += 500) await counts(daemon, sent.slice(at, at + 500));
  return sent;
}

async function listed(daemon: Daemon): Promise<Record<string, number>> {
  const { stdout } = await daemon.command('session', 'list', '--json');
  const lines: { session_id: string; events: number }[] = JSON.parse(stdout);
  return Object.fromEntries(lines.map(({ session_id, events }) => [session_id, events]));
}

async function pruned(daemon: Daemon, ...args: string[]) {
  const { stderr } = await daemon.command('prune', '--yes', ...args);
  const counts = /^Deleted (\d+) events? of (\d+) sessions?, /.exec(stderr);
  if (counts === null) throw new Error(stderr);
  const [events, sessions] = counts.slice(1).map(Number);
  return { events, sessions };
}

t.test('a prune deletes the old events alone, while the daemon rejects no camera', async (t) => {
  const daemon = await Daemon.start(t, ['--rate-limit', '0']);
  const old = await post(daemon, 4_000, { session_id: 'old' });
  const mixed = await post(daemon, 1_000, { session_id: 'mixed' });
  await counts(daemon, [{ ...old[0], payload: {} }, old[1]]);
  ageEvents(daemon.data, 100);
  const kept = await post(daemon, 1_000, { session_id: 'mixed' });
  const cameras = new Cameras(t, daemon, { cameras: 4 });
  await cameras.more(200);
  t.match(await pruned(daemon, '--older-than', '90d'), { events: 5_000, sessions: 2 });
  await cameras.more(200);
  await cameras.stop();
  t.strictSame([...cameras.refused], [], 'no request was refused');
  const { old: left, ...rest } = await listed(daemon);
  t.equal(left, undefined, 'an empty session is not shown');
  t.strictSame(rest, { mixed: 1_000, 'session-1': cameras.acknowledged.length });
  t.strictSame(
    await counts(daemon, kept.slice(0, 500)),
    { accepted: 0, duplicates: 500 },
    'a kept one is known',
  );
  t.strictSame(
    await counts(daemon, old.slice(0, 500)),
    { accepted: 500, duplicates: 0 },
    'a pruned one is new',
  );
  t.strictSame(await counts(daemon, old.slice(0, 500)), { accepted: 0, duplicates: 500 });
  await daemon.stop('SIGKILL');
  const again = await Daemon.run(t, daemon.data, daemon.token);
  t.strictSame(await counts(again, old.slice(0, 500)), { accepted: 0, duplicates: 500 });
  t.strictSame(await counts(again, mixed.slice(0, 500)), { accepted: 500, duplicates: 0 });
  t.strictSame(await counts(again, kept.slice(0, 500)), { accepted: 0, duplicates: 500 });
  const shown = JSON.parse((await again.command('session', 'show', 'old', '--json')).stdout);
  t.match(
    shown,
    { events: 500, duplicates: 1_000, conflicts: 0 },
    'what was counted of pruned events is gone',
  );
  await again.stop();
  const db = new Database(path.join(daemon.data, 'courtd.db'), { readonly: true });
  t.equal(db.pragma('integrity_check', { simple: true }), 'ok');
  db.close();
});

t.test('with --keep the daemon deletes by itself, up to the first event that is young', async (t) => {
  const daemon = await Daemon.start(t, ['--keep', '24h']);
  for (const session_id of ['old', 'young', 'behind']) await post(daemon, 10, { session_id });
  ageEvents(daemon.data, 5, 'seq <= 10 OR seq > 20');
  await daemon.logged(({ msg }) => msg === 'deleted old events');
  t.strictSame(await listed(daemon), { young: 10, behind: 10 });
  t.match(await pruned(daemon, '--session', 'behind'), { events: 10, sessions: 1 });
  t.strictSame(await listed(daemon), { young: 10 });
  t.match(await daemon.command('prune', '--session', 'young'), { status: 1, stderr: /10 of 10 events/ });
  for (const args of [
    [],
    ['--session', 'young', '--type', 'BALL_HIT'],
    ['--session', 'young', '--older-than', '1d'],
  ])
    t.match(await daemon.command('prune', ...args), { status: 2 });
});

t.test('on a terminal the answer counts, and Ctrl-C and Ctrl-D are a no', async (t) => {
  const daemon = await Daemon.start(t);
  await post(daemon, 30, { session_id: 'old' });
  ageEvents(daemon.data, 100);
  for (const no of ['n\\n', '\\n', '\\x03', '\\x04']) {
    const { status, stdout } = await answered(daemon, no);
    t.equal(status, 1, no);
    t.match(
      stdout,
      /30 of 30 events, [^\n]* \[y\/N\] [^\n]*\n(\r*\n)*courtd: Nothing was deleted\.\r\n$/,
      no,
    );
    t.strictSame(await listed(daemon), { old: 30 }, no);
  }
  t.match(await answered(daemon, 'y\\n'), { status: 0, stdout: /Deleted 30 events of 1 session, / });
  t.strictSame(await listed(daemon), {});
});

/** A prune on a terminal, where somebody types an answer to what it asks. */
function answered(daemon: Daemon, answer: string): Promise<CommandResult> {
  const python = `import os, pty, sys
def output(fd):
    data = os.read(fd, 4096)
    if b'[y/N]' in data: os.write(fd, b'${answer}')
    return data
sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:], output)))`;
  return run('python3', ['-c', python, BIN, 'prune', '--older-than', '90d', '--data', daemon.data]);
}

import { once } from 'node:events';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import t, { type Test } from 'tap';
import { Cameras } from '../harness/cameras.ts';
import { BIN, type CommandResult, Daemon, run, start } from '../harness/daemon.ts';
import { event, events } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { reseal } from '../harness/scratchStore.ts';

runInProcess();

const DAY_MS = 86_400_000;

async function counts(daemon: Daemon, body: unknown): Promise<unknown> {
  return (await daemon.post(body)).json();
}

async function post(daemon: Daemon, count: number, overrides: Record<string, unknown>) {
  const sent = events(count, overrides);
  for (let at = 0; at < count; at += 500) await counts(daemon, sent.slice(at, at + 500));
  return sent;
}

/** What the clock would have said had these events come so many days ago. */
function age(daemon: Daemon, days: number, where = 'true'): void {
  const db = new Database(path.join(daemon.data, 'courtd.db'), { timeout: 5_000 });
  db.exec(`UPDATE event SET received_ms = received_ms - ${days * DAY_MS} WHERE ${where}`);
  reseal(db);
  db.close();
}

async function listed(daemon: Daemon): Promise<Record<string, number>> {
  const { stdout } = await daemon.command('session', 'list', '--json');
  const lines: { session_id: string; events: number }[] = JSON.parse(stdout);
  return Object.fromEntries(lines.map(({ session_id, events }) => [session_id, events]));
}

async function pruned(daemon: Daemon, ...args: string[]) {
  const { status, stdout, stderr } = await daemon.command('prune', '--yes', '--json', ...args);
  if (status !== 0) throw new Error(stderr);
  const { events, sessions, bytes } = JSON.parse(stdout);
  return { events, sessions, bytes };
}

t.test(
  'beside a daemon that takes events: the old ones are gone, nothing else is, and no camera is refused',
  async (t) => {
    const daemon = await Daemon.start(t, ['--rate-limit', '0']);
    const old = await post(daemon, 4_000, { session_id: 'old' });
    const mixed = await post(daemon, 1_000, { session_id: 'mixed' });
    await counts(daemon, [{ ...old[0], payload: {} }, old[1]]);
    age(daemon, 100);
    const kept = await post(daemon, 1_000, { session_id: 'mixed' });
    const cameras = new Cameras(t, daemon, { cameras: 4 });
    await cameras.more(200);
    const dry = await daemon.command('prune', '--older-than', '90d', '--dry-run');
    t.match(dry, {
      status: 0,
      stdout: '',
      stderr: /^5000 events of 2 sessions, received before 20[^ ]+Z, would be deleted\.\n$/,
    });
    t.equal((await listed(daemon)).old, 4_000, 'a dry run deletes nothing');
    const { stderr, status } = await daemon.command('prune', '--older-than', '90d', '--yes');
    t.equal(status, 0);
    t.match(
      stderr,
      /^Deleted 5000 events of 2 sessions, received before 20[^ ]+Z; [\d.]+ (?:[KM]i)?B are free again\.\n$/,
    );
    await cameras.more(200);
    await cameras.stop();
    t.strictSame([...cameras.refused], [], 'no request was refused');
    const { old: left, ...rest } = await listed(daemon);
    t.equal(left, undefined, 'an empty session is not shown');
    t.strictSame(rest, { mixed: 1_000, 'session-1': cameras.acknowledged.length });
    t.match(await daemon.command('session', 'show', 'old'), {
      status: 1,
      stderr: /There is no session "old"/,
    });

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
  },
);

t.test('--type: only those', async (t) => {
  const daemon = await Daemon.start(t, ['--rate-limit', '0']);
  await post(daemon, 1_500, { session_id: 's', type: 'PLAYER_POSITION' });
  await post(daemon, 100, { session_id: 's', type: 'BALL_HIT' });
  age(daemon, 8);
  await post(daemon, 10, { session_id: 's', type: 'PLAYER_POSITION' });
  const positions = ['--older-than', '7d', '--type', 'PLAYER_POSITION'];
  t.match(await pruned(daemon, ...positions), { events: 1_500, sessions: 1 });
  const { stdout } = await daemon.command('session', 'show', 's', '--json');
  t.strictSame(JSON.parse(stdout).by_type, { BALL_HIT: 100, PLAYER_POSITION: 10 });
  t.strictSame(await pruned(daemon, ...positions), { events: 0, sessions: 0, bytes: 0 });
});

t.test(
  'a clock that is right: a prune by hand on a box that was never pruned deletes what is older, at once',
  async (t) => {
    const daemon = await Daemon.start(t);
    await post(daemon, 10, { session_id: 'old' });
    age(daemon, 100);
    await post(daemon, 20, { session_id: 'young' });
    t.match(await daemon.command('prune', '--older-than', '90d'), {
      status: 0,
      stderr: /^Deleted 10 events of 1 session, /,
    });
    t.strictSame(await listed(daemon), { young: 20 });
  },
);

t.test(
  'after a winter the clock was years behind for a day: what came then is as young as what came next',
  async (t) => {
    const daemon = await Daemon.start(t);
    await post(daemon, 10, { session_id: 'last-autumn' });
    age(daemon, 150);
    await post(daemon, 10, { session_id: 'clock-behind' });
    age(daemon, 5_000, 'seq > 10');
    await post(daemon, 10, { session_id: 'clock-right' });
    t.match(await pruned(daemon, '--older-than', '90d'), { events: 10, sessions: 1 });
    t.strictSame(await listed(daemon), { 'clock-behind': 10, 'clock-right': 10 });
    age(daemon, 100, 'seq > 20');
    t.match(await pruned(daemon, '--older-than', '90d'), { events: 20 }, 'and goes with it');
  },
);

t.test(
  'more than half of all events: only with --yes, or an answer; the dry run tells the same number',
  async (t) => {
    const daemon = await Daemon.start(t);
    await post(daemon, 30, { session_id: 'old' });
    age(daemon, 100);
    await post(daemon, 29, { session_id: 'young' });
    t.match(await daemon.command('prune', '--older-than', '90d'), {
      status: 1,
      stdout: '',
      stderr:
        'courtd: 30 of 59 events, more than half, would be deleted: nothing was deleted. If that is right, repeat the command with --yes.\n',
    });
    t.match(await daemon.command('prune', '--older-than', '90d', '--dry-run'), {
      status: 0,
      stderr: /^30 events of 1 session, /,
    });
    t.strictSame(await listed(daemon), { old: 30, young: 29 });
    t.match(await daemon.command('prune', '--older-than', '90d', '--yes'), {
      status: 0,
      stderr: /^Deleted 30 events of 1 session, /,
    });
    t.strictSame(await listed(daemon), { young: 29 });
  },
);

/** A prune in the background, and what it has said so far. */
function startPrune(t: Test, data: string, ...args: string[]) {
  const child = start(BIN, ['prune', '--older-than', '90d', '--yes', ...args, '--data', data]);
  t.teardown(() => child.kill('SIGKILL'));
  const said = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].on('data', (text) => {
      said[stream] += text;
    });
  }
  return { child, exit: once(child, 'close'), stdout: () => said.stdout, stderr: () => said.stderr };
}

/** Looks beside whoever writes: how many events are left, and whether the first one has gone, which costs nothing to ask. */
function counter(data: string) {
  const db = new Database(path.join(data, 'courtd.db'), { readonly: true });
  const count = db.prepare<[], number>('SELECT count(*) FROM event').pluck();
  const first = db.prepare<[], number>('SELECT min(seq) FROM event').pluck();
  return {
    left: () => count.get()!,
    begun: async (child: ReturnType<typeof start>) => {
      while (first.get() === 1 && child.exitCode === null) await sleep(5);
    },
    close: () => db.close(),
  };
}

for (const signal of ['SIGINT', 'SIGKILL'] as const) {
  t.test(`${signal} in the middle: nothing but old events is gone, and the next one finishes`, async (t) => {
    const daemon = await Daemon.start(t, ['--rate-limit', '0']);
    await post(daemon, 10_000, { session_id: 'old' });
    age(daemon, 100);
    const kept = await post(daemon, 500, { session_id: 'kept' });
    const { child, exit } = startPrune(t, daemon.data);
    const look = counter(daemon.data);
    await look.begun(child);
    child.kill(signal);
    t.strictSame(await exit, [null, signal]);
    const left = look.left() - 500;
    look.close();
    t.ok(left > 0, `${left} were left`);
    const { events: rest } = await pruned(daemon, '--older-than', '90d');
    t.ok(rest > 0 && rest <= left, `${rest} were left at the end of its step`);
    t.strictSame(await listed(daemon), { kept: 500 });
    t.strictSame(await counts(daemon, kept), { accepted: 0, duplicates: 500 });
  });
}

t.test('a daemon that waits for its disk for a while is waited for', async (t) => {
  const daemon = await Daemon.start(t, ['--rate-limit', '0']);
  await post(daemon, 10_000, { session_id: 'old' });
  age(daemon, 100);
  const { child, exit, stderr } = startPrune(t, daemon.data);
  const look = counter(daemon.data);
  await look.begun(child);
  daemon.child.kill('SIGSTOP');
  t.ok(look.left() > 0, 'it has not come to its end');
  look.close();
  // For longer than a daemon may take to begin an answer.
  await sleep(6_000);
  daemon.child.kill('SIGCONT');
  t.strictSame(await exit, [0, null], stderr());
  t.strictSame(await listed(daemon), {});
});

t.test('with --keep the daemon deletes by itself, and status reports what a young event keeps', async (t) => {
  const daemon = await Daemon.start(t, ['--keep', '24h']);
  for (const session_id of ['old', 'young', 'behind']) await post(daemon, 10, { session_id });
  age(daemon, 5, 'seq <= 10 OR seq > 20');
  await daemon.logged(({ msg }) => msg === 'deleted old events');
  t.strictSame(await listed(daemon), { young: 10, behind: 10 });
  const codes = async () => {
    const { stdout } = await daemon.command('status', '--json');
    return JSON.parse(stdout).problems.map(({ code }: { code: string }) => code);
  };
  t.ok((await codes()).includes('retention_stopped'));
  t.match(await pruned(daemon, '--session', 'behind'), { events: 10, sessions: 1 });
  t.strictSame([await listed(daemon), (await codes()).includes('retention_stopped')], [{ young: 10 }, false]);
  t.match(await daemon.command('prune', '--session', 'young'), { status: 1, stderr: /10 of 10 events/ });
  for (const args of [
    [],
    ['--session', 'young', '--type', 'BALL_HIT'],
    ['--session', 'young', '--older-than', '1d'],
  ])
    t.match(await daemon.command('prune', ...args), { status: 2 });
});

t.test('tokens stay, whatever their age', async (t) => {
  const daemon = await Daemon.start(t);
  await post(daemon, 10, {});
  age(daemon, 300);
  t.match(await pruned(daemon, '--older-than', '1s'), { events: 10, sessions: 1 });
  t.strictSame(await listed(daemon), {});
  t.strictSame(await counts(daemon, event()), { accepted: 1, duplicates: 0 });
});

t.test('on a terminal the answer counts, and Ctrl-C and Ctrl-D are a no', async (t) => {
  const daemon = await Daemon.start(t);
  await post(daemon, 30, { session_id: 'old' });
  age(daemon, 100);
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

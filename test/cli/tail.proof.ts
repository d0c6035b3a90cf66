import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { Cameras } from '../harness/cameras.ts';
import { BIN, type CommandResult, courtd, Daemon, start, temporaryFolder } from '../harness/daemon.ts';
import { event, events } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { jsonLines } from '../harness/lines.ts';
import { ageEvents } from '../harness/scratchStore.ts';
import { holdsDatabase, Tail, type TailLine } from '../harness/tail.ts';

runInProcess();

const RESTORE_TRIES = 20;
/** So that a tail, which gives way to them, has a processor meanwhile. */
const PAUSE_MS = 50;

function ids(sent: readonly { event_id: string }[]): string[] {
  return sent.map(({ event_id }) => event_id);
}

/** What follows waits for what it does: the test ends where it fails. */
async function done(command: Promise<CommandResult>): Promise<CommandResult> {
  const result = await command;
  if (result.status !== 0) throw new Error(result.stderr);
  return result;
}

async function printed(daemon: Daemon, ...args: string[]): Promise<TailLine[]> {
  const { stdout } = await done(daemon.command('tail', '--json', ...args));
  return jsonLines(stdout);
}

/** As an operator does: while a tail that a busy machine has stopped still has the database open, the command asks to try again. */
async function restored(backup: string, data: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    const { status, stderr } = await courtd(['restore', backup, '--data', data]);
    if (status === 0) return;
    if (tries === RESTORE_TRIES || !stderr.includes('try again when it is done')) throw new Error(stderr);
  }
}

t.test(
  'tail --follow --after 0 prints each acknowledged event once, in order, over kill -9, restarts and prunes',
  async (t) => {
    let daemon = await Daemon.start(t, ['--rate-limit', '0']);
    const { data, token } = daemon;
    const tail = new Tail(t, data, '--after', '0');
    const cameras = new Cameras(t, daemon, { cameras: 4, pauseMs: PAUSE_MS });
    for (let round = 0; round < 5; round++) {
      await cameras.more(400);
      await tail.has(1 + 300 * round);
      if (round === 2) {
        // So old that a prune takes them; what has been printed already is not missed.
        const upTo = tail.lines.at(-1)!.seq;
        ageEvents(data, 100, `seq <= ${upTo}`);
        await done(daemon.command('prune', '--older-than', '90d', '--yes'));
      }
      await daemon.stop(round % 2 === 0 ? 'SIGKILL' : 'SIGTERM');
      daemon = await Daemon.run(t, data, token, ['--rate-limit', '0']);
      cameras.follow(daemon);
    }
    await cameras.stop();
    await tail.has(cameras.acknowledged.length);
    const { lines } = tail;
    t.strictSame(ids(lines.map(({ event }) => event)).toSorted(), cameras.acknowledged.toSorted());
    const seqs = lines.map(({ seq }) => seq);
    t.strictSame(
      seqs,
      seqs.toSorted((a, b) => a - b),
    );
    t.equal(tail.stderr, '', 'nothing was missed');
    t.equal(await tail.end(), 'SIGTERM');
  },
);

t.test('tail --follow closes the database for a restore, reports it, and continues', async (t) => {
  const daemon = await Daemon.start(t);
  const { data, token } = daemon;
  const [kept, lost, later] = [events(8), events(4), events(6)];
  await daemon.post(kept);
  const backup = path.join(temporaryFolder(t), 'b.db');
  await done(daemon.command('backup', backup));
  const tail = new Tail(t, data, '--after', '0');
  const early = new Tail(t, data, '--after', '0', '--court', 'court-2');
  await daemon.post(lost);
  await tail.has(12);
  await daemon.stop();
  await Promise.all([tail.letsGo(), early.letsGo()]);
  await restored(backup, data);
  await tail.said(/A backup was restored.* up to seq 8\..* up to seq 12 .*here/);
  const again = await Daemon.run(t, data, token);
  await again.post(later);
  await again.post(event({ court_id: 'court-2' }));
  await tail.has(19);
  await early.has(1);
  t.strictSame(tail.ids.slice(0, 18), ids([...kept, ...lost, ...later]), 'none left out');
  t.strictSame(
    tail.lines.slice(12, 18).map(({ seq }) => seq),
    [9, 10, 11, 12, 13, 14],
  );
  t.equal(tail.stderr.split('\n').length - 1, 1, 'once');
});

t.test('tail --follow reports once that the database is missing, and once that it is back', async (t) => {
  const daemon = await Daemon.start(t);
  const { data, token } = daemon;
  await daemon.post(events(3));
  await daemon.stop();
  const tail = new Tail(t, data);
  await tail.has(3);
  await tail.letsGo();
  const away = path.join(data, 'away');
  fs.renameSync(path.join(data, 'courtd.db'), away);
  await tail.said(/There is no courtd database in .*Waiting for it/);
  fs.renameSync(away, path.join(data, 'courtd.db'));
  await tail.said(/can be read again/);
  const again = await Daemon.run(t, data, token);
  await again.post(events(2));
  await tail.has(5);
  t.equal(tail.stderr.split('\n').length - 1, 2);
});

t.test(
  'a tail whose reader has stopped closes the database, and --after its last line leaves no event out',
  async (t) => {
    const daemon = await Daemon.start(t, ['--rate-limit', '0']);
    const sent = events(3_000);
    for (let at = 0; at < sent.length; at += 500) await daemon.post(sent.slice(at, at + 500));
    const tail = start(BIN, ['tail', '--json', '--follow', '--after', '0', '--data', daemon.data]);
    const closed = once(tail, 'close');
    t.teardown(() => tail.kill('SIGKILL'));
    let text = '';
    tail.stdout.setEncoding('utf8').on('data', (some) => {
      text += some;
    });
    await once(tail.stdout, 'data');
    tail.stdout.pause();
    // It closes the database, or this does not end.
    while (holdsDatabase(tail.pid!)) await sleep(5);
    tail.kill('SIGTERM');
    tail.stdout.resume();
    const [, signal] = await closed;
    t.equal(signal, 'SIGTERM');
    const lines: TailLine[] = jsonLines(text);
    t.ok(lines.length < sent.length);
    const rest = await printed(daemon, '--after', `${lines.at(-1)!.seq}`);
    t.strictSame(ids([...lines, ...rest].map(({ event }) => event)), ids(sent));
  },
);

import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import t from 'tap';
import { DataDirectory } from '../../src/base/dataDirectory.ts';
import type { WireEvent } from '../../src/protocol/eventSchema.ts';
import { EVENT_TYPES } from '../../src/protocol/eventTypes.ts';
import { Store } from '../../src/store/store.ts';
import { Random } from '../../src/vendor/simulate/random.ts';
import { Cameras } from '../harness/cameras.ts';
import { BIN, type Cleanup, courtd, Daemon, start, temporaryFolder } from '../harness/daemon.ts';
import { event, events } from '../harness/events.ts';
import { court, recorder } from '../harness/scratchStore.ts';
import { countsAreRight } from '../harness/storedReader.ts';

/** What is left of players who were erased, on a box that has been in use for a while. */

const ANNA = 'anna-kowalska-07';
const BEA = `bea "lindqvist" ${'of the long name '.repeat(8)}`;
const NAMES = { [ANNA]: 'Anna Kowalska-Example', [BEA]: 'Bea Lindqvist-Example' };
/** The last ones have the one before in them. */
const PLAYERS = [
  ANNA,
  BEA,
  ...Array.from({ length: 45 }, (_, i) => `player-${i}`),
  'kim-11',
  'kim-111',
  'kim-1111',
];
const SESSIONS = 20;
const BATCH = 500;

/** @returns a match's events, in which any two players meet; the same ones for a seed. */
function* played(count: number, random: Random): Generator<WireEvent> {
  for (let i = 0; i < count; i++) {
    const [player_id, other] = [random.pick(PLAYERS), random.pick(PLAYERS)];
    const type = i % 500 === 0 ? 'PLAYER_IDENTITY' : random.pick(EVENT_TYPES);
    const name = NAMES[player_id as keyof typeof NAMES];
    const payload = {
      ...(type !== 'BALL_BOUNCE' && { player_id }),
      ...(type === 'PLAYER_IDENTITY' && name !== undefined && { display_name: name }),
      ...(i % 7 === 0 && { nearest: [other] }),
      // Beyond a page of SQLite.
      ...(i % 400 === 0 && { trace: 'x'.repeat(random.integer(1_000, 9_000)), seen_by: other }),
    };
    const session_id = `match-${Math.floor((i * SESSIONS) / count)}`;
    const more = i % 11 === 0 ? { rally: { server: other } } : {};
    yield event({ session_id, type, payload, eot: new Date(1.77e12 + i * 20).toISOString(), ...more });
  }
}

/** Fills a data directory, as its daemon would have. @returns all that was sent. */
async function fill(data: string, count: number, seed: number): Promise<WireEvent[]> {
  const store = await Store.open(new DataDirectory(data), { ...recorder().on });
  const sent = [...played(count, new Random(seed))];
  for (let at = 0; at < sent.length; at += BATCH) {
    await store.append(court(...sent.slice(at, at + BATCH)));
    // The writer flushes between turns.
    await sleep(0);
  }
  await store.close();
  return sent;
}

const isOf = (players: readonly string[]) => {
  const spelt = players.map((player) => JSON.stringify(player));
  return (line: string) => spelt.some((player) => line.includes(player));
};

async function lines(data: string): Promise<string[]> {
  const { status, stdout, stderr } = await courtd(['tail', '--after', '0', '--json', '--data', data]);
  if (status !== 0) throw new Error(stderr);
  return stdout.split('\n').slice(0, -1);
}

/** @returns what is not as it was, or should not be there. @param before of `lines`; what came later stands behind. */
async function wrong(data: string, before: readonly string[], players: readonly string[]): Promise<string[]> {
  const faults: string[] = [];
  const [isHis, after] = [isOf(players), await lines(data)];
  const names = new Map<string, Set<string>>();
  for (const [i, line] of before.entries()) {
    const now = after[i] ?? 'nothing';
    if (!isHis(line)) {
      if (now !== line) faults.push(`changed: ${line.slice(0, 300)}: ${now.slice(0, 300)}`);
      continue;
    }
    const [was, is] = [JSON.parse(line), JSON.parse(now)];
    const { payload: had, rally: _rally, ...kept } = was.event;
    const { payload, rally, ...left } = is.event;
    const rest = JSON.stringify([was.seq, was.received_at, kept]);
    if (JSON.stringify([is.seq, is.received_at, left]) !== rest) faults.push(`not the same event: ${now}`);
    if (is.erased !== true) faults.push(`no mark: ${now}`);
    if (isHis(now)) faults.push(`names him: ${now}`);
    for (const name of now.match(/erased-[a-z0-9]{8}/g) ?? [])
      names.set(kept.session_id, (names.get(kept.session_id) ?? new Set()).add(name));
    const isOwn = kept.type.startsWith('PLAYER_') && players.includes(had.player_id);
    if (isOwn && JSON.stringify([payload, rally]) !== '[{},null]') faults.push(`not empty: ${now}`);
  }
  for (const [session, all] of names)
    if (all.size > players.length) faults.push(`${session} has ${all.size} names of ${players.length}`);
  const db = new Database(path.join(data, 'courtd.db'), { readonly: true });
  const integrity = db.pragma('integrity_check', { simple: true });
  if (integrity !== 'ok' || !countsAreRight(db)) faults.push(`the database: ${integrity}`);
  db.close();
  return faults.slice(0, 5);
}

async function erase(data: string, player: string): Promise<{ events: number; conflict_copies: number }> {
  const { status, stdout, stderr } = await courtd([
    'player',
    'erase',
    player,
    '--yes',
    '--json',
    '--data',
    data,
  ]);
  if (status !== 0) throw new Error(stdout + stderr);
  return JSON.parse(stdout);
}

/** Sends all of them again. */
async function resent(
  daemon: Daemon,
  sent: readonly WireEvent[],
): Promise<{ accepted: number; duplicates: number }> {
  const counts = { accepted: 0, duplicates: 0 };
  for (let at = 0; at < sent.length; at += BATCH) {
    const answer = (await (await daemon.post(sent.slice(at, at + BATCH))).json()) as typeof counts;
    counts.accepted += answer.accepted;
    counts.duplicates += answer.duplicates;
  }
  return counts;
}

async function box(t: Cleanup, count: number): Promise<{ daemon: Daemon; sent: WireEvent[] }> {
  const data = temporaryFolder(t);
  const old = await fill(data, count, 1);
  const daemon = await Daemon.start(t, ['--rate-limit', '0'], data);
  const his = old.filter((one) => one.type === 'BALL_HIT' && isOf([ANNA])(JSON.stringify(one)));
  await daemon.post(his.slice(0, 20).map((one) => ({ ...one, confidence: 0.125 })));
  for (const one of his.slice(0, 5)) await daemon.post([{ ...one, event_id: 'bad', eot: 'never' }]);
  const pruned = ['prune', '--older-than', '1s', '--type', 'PLAYER_POSITION', '--yes'];
  if ((await daemon.command(...pruned)).status !== 0) throw new Error('the prune failed');
  const fresh = [...played(count / 4, new Random(2))];
  await resent(daemon, fresh);
  return { daemon, sent: [...old.filter(({ type }) => type !== 'PLAYER_POSITION'), ...fresh] };
}

t.test(
  'beside ingest, one after the other: nothing of them is left, and everything else is as it was',
  async (t) => {
    const { daemon, sent } = await box(t, 20_000);
    const before = await lines(daemon.data);
    t.equal(before.length, sent.length);
    for (const [i, player] of [ANNA, BEA].entries()) {
      const cameras = new Cameras(t, daemon, {
        cameras: 2,
        pauseMs: 20,
        fresh: (n) => events(n, { session_id: 'now' }),
      });
      const named = (await lines(daemon.data)).filter(isOf([player])).length;
      const { events: count, conflict_copies } = await erase(daemon.data, player);
      await cameras.stop();
      t.equal(count, named);
      t.equal(conflict_copies, i === 0 ? 20 : 0);
      t.strictSame([...cameras.refused], []);
      t.strictSame(await wrong(daemon.data, before, [ANNA, BEA].slice(0, i + 1)), []);
    }
    const theirs = sent.filter((one) => isOf([ANNA, BEA])(JSON.stringify(one)));
    t.strictSame(await resent(daemon, theirs), { accepted: 0, duplicates: theirs.length });
    t.strictSame(JSON.parse((await daemon.command('conflicts', '--json')).stdout), []);
    t.strictSame(await wrong(daemon.data, before, [ANNA, BEA]), []);
  },
);

t.test(
  'killed at twenty moments, it is finished by the next one, and a restore from before brings nothing back',
  async (t) => {
    const { daemon: first } = await box(t, 8_000);
    const { data, token } = first;
    const eot = new Date(Date.now() + 86_400_000).toISOString();
    await first.post(event({ session_id: 'match-0', type: 'BALL_HIT', payload: { player_id: ANNA }, eot }));
    const before = await lines(data);
    const backup = path.join(temporaryFolder(t), 'before.db');
    t.equal((await first.command('backup', backup)).status, 0);
    let daemon = first;
    // Beside cameras it takes a few seconds.
    const cameras = new Cameras(t, daemon, {
      cameras: 1,
      pauseMs: 20,
      fresh: () => [event({ session_id: 'now' })],
    });
    const named = before.filter(isOf([ANNA])).length;
    let unfinished = 0;
    for (let round = 0; round < 20; round++) {
      const command = start(BIN, ['player', 'erase', ANNA, '--yes', '--data', data]);
      const ended = new Promise((resolve) => command.once('close', resolve));
      const db = new Database(path.join(data, 'courtd.db'), { readonly: true, timeout: 5_000 });
      const count = (sql: string) => db.prepare<[], number>(`SELECT count(*) FROM ${sql}`).pluck().get()!;
      const isDue = () => count('erasure') > 0 && count('event WHERE erased = 1') >= (named * round) / 20;
      while (!isDue() && command.exitCode === null) await sleep(2);
      if (round % 3 === 0) command.kill('SIGKILL');
      await daemon.stop('SIGKILL');
      await ended;
      unfinished += count('erasure WHERE finished_ms IS NULL');
      db.close();
      daemon = await Daemon.run(t, data, token, ['--rate-limit', '0']);
      cameras.follow(daemon);
    }
    t.ok(unfinished >= 15, `${unfinished}`);
    await erase(data, ANNA);
    await cameras.stop();
    t.strictSame(await wrong(data, before, [ANNA]), []);
    t.equal(await daemon.stop(), 0);
    const { status, stderr } = await courtd(['restore', backup, '--data', data]);
    t.equal(status, 0, stderr);
    t.strictSame(await wrong(data, before, [ANNA]), []);
  },
);

import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { DataDirectory } from '../../src/base/dataDirectory.ts';
import { BATCH_EVENTS } from '../../src/base/limits.ts';
import { decodeBatch } from '../../src/protocol/decodeBatch.ts';
import { Store } from '../../src/store/store.ts';
import type { Random } from '../../src/vendor/simulate/random.ts';
import { courtd, Daemon } from '../harness/daemon.ts';
import { History } from '../harness/history.ts';
import { Senders, targetOf } from '../harness/senders.ts';
import { UNWATCHED } from '../harness/storeEvents.ts';
import { Traffic } from '../harness/traffic.ts';
import { untilExit } from '../harness/untilExit.ts';
import type { Workshop } from '../harness/workshop.ts';
import { makeImage, RecordedDisk } from './disk.ts';
import { SERVE } from './opened.ts';
import { pruneUntil } from './prune.ts';
import type { WriteLog } from './write-log.ts';

/** courtd makes it, on the disk whose power is cut. */
const DATA = 'var/courtd';

export interface RecordingOptions {
  /** Different ones, resends aside. */
  readonly requests: number;
  /** Events that are stored before the recording begins. */
  readonly before: number;
  readonly mebibytes: number;
}

/** What happened to the disk, and what the senders know. */
export interface Recording {
  /** The disk before the first write. */
  readonly image: string;
  readonly log: WriteLog;
  readonly history: History;
}

export function dataIn(folder: string): string {
  return path.join(folder, DATA);
}

/**
 * Records courtd under load from several senders: a first start, a second token, a `kill -9` while another program
 * has the database open, another one while none has, and a stop in good order at the end; and one prune after the other.
 */
export async function record(
  workshop: Workshop,
  random: Random,
  options: RecordingOptions,
): Promise<Recording> {
  const history = new History();
  const traffic = new Traffic(random, history);
  const live = makeImage(workshop, options.mebibytes);
  await storeBefore(workshop, live, traffic, history, options.before);
  const image = workshop.file('before');
  execFileSync('cp', ['--sparse=auto', live, image]);
  const disk = await RecordedDisk.start(workshop, live);
  const { log } = disk;
  const data = dataIn(disk.folder);
  const rotate = async () => {
    const { status, stdout, stderr } = await courtd(['token', 'rotate', '--data', data]);
    if (status !== 0) throw new Error(stderr);
    const token = stdout.trim();
    history.tokens.push({ token, madeAt: log.length() });
    return token;
  };
  const token = await rotate();
  const senders = new Senders({
    history,
    traffic,
    clock: () => log.length(),
    token,
    requests: options.requests,
  });
  const serve = () => Daemon.run(untilExit, data, token, SERVE);
  const restart = async (daemon: Daemon) => {
    history.moments.push(log.length());
    await daemon.stop('SIGKILL');
    const next = await serve();
    history.moments.push(log.length());
    return next;
  };
  let daemon = await serve();
  senders.target = targetOf(daemon);
  const running = senders.run();
  await senders.sent(0.25);
  senders.token = await rotate();
  const pruning = pruneUntil(running, data, history, () => log.length());
  await senders.sent(0.45);
  const other = new Database(path.join(data, 'courtd.db'), { readonly: true });
  other.prepare('SELECT count(*) FROM event').get();
  daemon = await restart(daemon);
  senders.target = targetOf(daemon);
  other.close();
  await senders.sent(0.75);
  daemon = await restart(daemon);
  senders.target = targetOf(daemon);
  await running;
  await pruning;
  history.moments.push(log.length());
  await daemon.stop('SIGTERM');
  log.length();
  disk.stop();
  return { image, log, history };
}

/** Stores events on the disk before anything is recorded: they count as acknowledged from the beginning. */
async function storeBefore(
  workshop: Workshop,
  image: string,
  traffic: Traffic,
  history: History,
  count: number,
): Promise<void> {
  if (count === 0) return;
  const { folder, unmount } = workshop.mount(image, 'before-mount');
  const store = await Store.open(new DataDirectory(dataIn(folder)), UNWATCHED);
  for (let left = count; left > 0; left -= BATCH_EVENTS) {
    const session = `session-${left > count / 2 ? 0 : 1}`;
    const sent = history.add(traffic.fresh(Math.min(left, BATCH_EVENTS), session));
    await store.append(decodeBatch(Buffer.from(sent.body)));
    sent.answeredAt = 0;
    // The writer flushes between turns.
    await sleep(0);
  }
  await store.close();
  unmount();
}

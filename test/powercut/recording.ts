import { execFileSync } from 'node:child_process';
import path from 'node:path';
import Database from 'better-sqlite3';
import type { Random } from '../../src/vendor/simulate/random.ts';
import { Cameras } from '../harness/cameras.ts';
import { courtd, Daemon } from '../harness/daemon.ts';
import { History } from '../harness/history.ts';
import { Traffic } from '../harness/traffic.ts';
import { untilExit } from '../harness/untilExit.ts';
import type { Workshop } from '../harness/workshop.ts';
import { makeImage, RecordedDisk } from './disk.ts';
import type { WriteLog } from './write-log.ts';

/** courtd makes it, on the disk whose power is cut. */
const DATA = 'var/courtd';
const MEBIBYTES = 128;
/** The disk is small, and one sender is as fast as all cameras. */
const SERVE = ['--rate-limit', '0', '--min-free', '0'];
/** Different ones, resends aside. */
const REQUESTS = 800;

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
 * has the database open, another one while none has, and a stop in good order at the end.
 */
export async function record(workshop: Workshop, random: Random): Promise<Recording> {
  const history = new History();
  const traffic = new Traffic(random, history);
  const live = makeImage(workshop, MEBIBYTES);
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
  const serve = () => Daemon.run(untilExit, data, token, SERVE);
  const restart = async (daemon: Daemon) => {
    history.moments.push(log.length());
    await daemon.stop('SIGKILL');
    const next = await serve();
    history.moments.push(log.length());
    return next;
  };
  let daemon = await serve();
  const clock = () => log.length();
  const cameras = new Cameras(untilExit, daemon, { history, traffic, clock, most: REQUESTS });
  await cameras.made(0.25 * REQUESTS);
  cameras.token = await rotate();
  await cameras.made(0.45 * REQUESTS);
  const other = new Database(path.join(data, 'courtd.db'), { readonly: true });
  other.prepare('SELECT count(*) FROM event').get();
  daemon = await restart(daemon);
  cameras.follow(daemon);
  other.close();
  await cameras.made(0.75 * REQUESTS);
  daemon = await restart(daemon);
  cameras.follow(daemon);
  await cameras.done;
  history.moments.push(log.length());
  await daemon.stop('SIGTERM');
  log.length();
  disk.stop();
  return { image, log, history };
}

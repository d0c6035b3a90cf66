import { createHash } from 'node:crypto';
import { DataDirectory } from '../../../src/base/dataDirectory.ts';
import { openDatabase } from '../../../src/store/open/openDatabase.ts';
import { BIN, type Cleanup, Daemon, start, temporaryFolder } from '../../harness/daemon.ts';
import { event } from '../../harness/events.ts';
import { NatsServers } from '../../harness/nats.ts';
import { Committer, court } from '../../harness/scratchStore.ts';
import { Box } from './box.ts';
import { type FleetMessage, gapsOf, Headquarters } from './headquarters.ts';

/** A box that was offline for weeks: events come, it is restarted, its positions are pruned, and then headquarters is back. */

export interface OfflineOptions {
  /** That come while headquarters is away. */
  readonly events: number;
  readonly restarts: number;
  /** Of the shipper, while it catches up. */
  readonly kills: number;
}

export interface OfflineResult {
  /** In the database, at the end. */
  readonly stored: number;
  /** Positions that were deleted before they could be shipped. */
  readonly pruned: number;
  /** Whether a prune deletes nothing of what is not shipped, as long as it has to spare that. */
  readonly isHeld: boolean;
  readonly messages: number;
  /** The faults of the chain. */
  readonly gaps: readonly string[];
  /** Whether headquarters has what `tail` says, byte for byte. */
  readonly isWhole: boolean;
}

const BOX = 'venue-7';
const FIRST = 500;
const BATCH = 500;
const DAY_MS = 86_400_000;
const WEEKS_MS = 21 * DAY_MS;
/** Older than this goes; so does what is not shipped, when the line has been down for longer than it is held. */
const PRUNE = ['prune', '--yes', '--older-than', '10d', '--type', 'PLAYER_POSITION'];
const HELD = '1d';

export async function offlineForWeeks(t: Cleanup, options: OfflineOptions): Promise<OfflineResult> {
  const { events, restarts, kills } = options;
  const servers = await NatsServers.start(t);
  const [server] = servers.servers;
  const hq = await Headquarters.connect(t, servers.url);
  await hq.init();
  const env = { COURTD_SHIP_URL: servers.url, COURTD_SHIP_BOX: BOX };
  const box = new Box(t, temporaryFolder(t), env);
  const since = Date.now() - WEEKS_MS;
  put(box, FIRST, 'BALL_BOUNCE', () => since);
  const first = await box.once();
  if (first.status !== 0) throw new Error(first.stderr);
  await server!.stop();

  let isHeld = false;
  for (let round = 0; round < restarts; round++) {
    const clock = (share: number) => since + ((round + share) / restarts) * WEEKS_MS;
    put(box, Math.ceil(events / restarts), 'PLAYER_POSITION', clock);
    const daemon = await Daemon.start(t, [], box.data);
    await daemon.post(event());
    const shipper = box.ship();
    await shipper.state('connecting');
    await Promise.all([shipper.stop('SIGKILL'), daemon.stop(round % 2 === 0 ? 'SIGKILL' : 'SIGTERM')]);
    if (round !== Math.floor(restarts / 2)) continue;
    const before = countOf(box);
    await prune(t, box);
    isHeld = countOf(box) === before;
    await prune(t, box, { COURTD_SHIP_HOLD: HELD });
  }

  server!.start();
  await server!.ready();
  for (let kill = 0; kill < kills; kill++) {
    const shipper = box.ship();
    const from = await shipper.report(({ shipped_seq }) => shipped_seq !== null);
    await shipper.report(({ shipped_seq }) => shipped_seq !== from.shipped_seq);
    await shipper.stop('SIGKILL');
  }
  const last = await box.once();
  if (last.status !== 0) throw new Error(last.stderr);

  const stored = countOf(box);
  const chain: FleetMessage[] = [];
  const shipped = createHash('sha256');
  for await (const message of hq.each(BOX)) {
    for (const line of message.lines) shipped.update(line);
    chain.push({ ...message, lines: [] });
  }
  return {
    stored,
    pruned: FIRST + Math.ceil(events / restarts) * restarts + restarts - stored,
    isHeld,
    messages: chain.length,
    gaps: gapsOf(chain),
    isWhole: shipped.digest('hex') === (await digestOfTail(box)),
  };
}

/** @param type of every other event. @param clock of the box, by the share of the events that has come. */
function put(box: Box, count: number, type: string, clock: (share: number) => number): void {
  let done = 0;
  const db = openDatabase(new DataDirectory(box.data));
  const committer = new Committer(db, () => clock(done / count));
  try {
    while (done < count) {
      const sent = Array.from({ length: Math.min(BATCH, count - done) }, (_, i) =>
        event(i % 2 === 0 ? { type } : {}),
      );
      committer.append(...court(...sent));
      done += sent.length;
    }
    committer.sealAll();
  } finally {
    db.close();
  }
}

async function prune(t: Cleanup, { data, env }: Box, more: Record<string, string> = {}): Promise<void> {
  // The daemon decides what is held: `sudo courtd prune` has none of its settings.
  const daemon = await Daemon.start(t, [], data, { ...env, ...more });
  const { status, stderr } = await daemon.command(...PRUNE);
  await daemon.stop();
  if (status !== 0) throw new Error(stderr);
}

function countOf({ data }: Box): number {
  const db = openDatabase(new DataDirectory(data));
  try {
    return db.prepare<[], number>('SELECT count(*) FROM event').pluck().get()!;
  } finally {
    db.close();
  }
}

/** @returns the SHA-256 of what `tail` prints, which may be more than fits into a text. */
async function digestOfTail({ data }: Box): Promise<string> {
  const hash = createHash('sha256');
  const tail = start(BIN, ['tail', '--json', '--after', '0', '--data', data]);
  for await (const text of tail.stdout) hash.update(text);
  return hash.digest('hex');
}

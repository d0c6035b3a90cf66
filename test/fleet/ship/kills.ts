import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../../src/vendor/simulate/random.ts';
import { type Cleanup, Daemon, temporaryFolder } from '../../harness/daemon.ts';
import { events } from '../../harness/events.ts';
import { NatsServers } from '../../harness/nats.ts';
import { BadLine } from './badLine.ts';
import { Box, type RunningShipper } from './box.ts';
import { digestOf, gapsOf, Headquarters } from './headquarters.ts';

/**
 * A box and its servers are killed at random while events come, with a bad line between them.
 */

export interface KillOptions {
  /** Of the box; a server is killed at 7 of 10. */
  readonly kills: number;
  readonly seed: number;
  readonly servers?: 1 | 3;
  /** See BadLine. It ends when an event is at headquarters twice. */
  readonly unconditional?: boolean;
  readonly faultRate?: number;
}

export interface KillResult {
  readonly events: number;
  readonly messages: number;
  /** The faults of the chain. */
  readonly gaps: readonly string[];
  /** Events that headquarters has more than once. */
  readonly twice: number;
  /** Whether headquarters has what `tail` says, byte for byte. */
  readonly isWhole: boolean;
  /** What the line has done. */
  readonly line: Readonly<Record<string, number>>;
}

const BOX = 'venue-7';
/** Between two kills, at most. */
const LIFE_MS = 3_000;
const REQUEST_EVENTS = 200;
/** Between two requests. */
const PAUSE_MS = 60;
/** As many as there is time for between two kills: on a busy machine, where all takes longer, no more come. */
const LIFE_REQUESTS = LIFE_MS / PAUSE_MS;
const LOOK_MS = 200;

export async function killAtRandom(t: Cleanup, options: KillOptions): Promise<KillResult> {
  const { kills, seed, servers: count = 1, unconditional = false, faultRate = 0.08 } = options;
  const random = new Random(seed);
  const servers = await NatsServers.start(t, { servers: count });
  const hq = await Headquarters.connect(t, servers.url);
  await hq.init({}, count);
  const line = await BadLine.to(t, servers.url, { seed, faultRate, unconditional });
  const env = { COURTD_SHIP_URL: line.url, COURTD_SHIP_BOX: BOX };
  let daemon = await Daemon.start(t, [], temporaryFolder(t));
  const box = new Box(t, daemon.data, env);
  let shipper: RunningShipper = box.ship();
  let isSending = true;
  let requests = LIFE_REQUESTS;
  const sending = (async () => {
    for (; isSending; await sleep(PAUSE_MS)) {
      if (requests <= 0) continue;
      requests--;
      await daemon.post(events(REQUEST_EVENTS)).catch(() => sleep(50));
    }
  })();
  for (let kill = 0; kill < kills; kill++) {
    requests = LIFE_REQUESTS;
    await sleep(random.next() * LIFE_MS);
    const server = random.pick(servers.servers);
    await Promise.all([
      (async () => {
        await Promise.all([daemon.stop('SIGKILL'), shipper.stop('SIGKILL')]);
        daemon = await Daemon.run(t, daemon.data, daemon.token);
        shipper = box.ship();
      })(),
      random.chance(0.7) ? server.restart() : Promise.resolve(),
    ]);
  }
  for (; unconditional && !(await isAnyTwice(hq)); await sleep(LOOK_MS)) requests = LIFE_REQUESTS;
  isSending = false;
  await sending;
  await daemon.stop();
  await shipper.stop();
  await servers.ready();
  // A new one, on a line that is good, until everything is there.
  const last = await new Box(t, box.data, { ...env, COURTD_SHIP_URL: servers.url }).once();
  if (last.status !== 0) throw new Error(last.stderr);
  const messages = await hq.messages(BOX);
  const shipped = messages.flatMap(({ lines }) => lines);
  const stored = await box.lines();
  return {
    events: stored.length,
    messages: messages.length,
    gaps: gapsOf(messages),
    twice: shipped.length - new Set(shipped).size,
    isWhole: digestOf(shipped) === digestOf(stored),
    line: line.done,
  };
}

async function isAnyTwice(hq: Headquarters): Promise<boolean> {
  const seen = new Set<string>();
  for await (const { lines } of hq.each(BOX)) {
    if (seen.has(lines[0]!)) return true;
    seen.add(lines[0]!);
  }
  return false;
}

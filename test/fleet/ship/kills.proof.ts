import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { Random } from '../../../src/vendor/simulate/random.ts';
import { type Cleanup, Daemon, temporaryFolder } from '../../harness/daemon.ts';
import { events } from '../../harness/events.ts';
import { NatsServers } from '../../harness/nats.ts';
import { missingNats } from '../../harness/natsProgram.ts';
import { BadLine } from './badLine.ts';
import { Box, type RunningShipper } from './box.ts';
import { digestOf, gapsOf, Headquarters } from './headquarters.ts';

/** A box and its servers are killed at random while events come, with a bad line between them. */

interface KillOptions {
  /** Of the box; a server is killed at 7 of 10. */
  readonly kills: number;
  readonly seed: number;
  readonly servers?: 1 | 3;
  /** See BadLine. It ends when an event is at headquarters twice. */
  readonly unconditional?: boolean;
  readonly faultRate?: number;
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

async function killAtRandom(t: Cleanup, options: KillOptions) {
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
    /** What is wrong with the chain. */
    gaps: gapsOf(messages),
    /** Events that headquarters has more than once. */
    twice: shipped.length - new Set(shipped).size,
    /** Whether headquarters has what `tail` says, byte for byte. */
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

const skip = await missingNats();
const SEED = Number(process.env.SHIP_SEED ?? Date.now() % 1e6);

t.test(
  'without its condition a chunk that comes late is there twice: this test sees it',
  { skip },
  async (t) => {
    const options = { kills: 0, seed: SEED, unconditional: true, faultRate: 0.4 };
    const result = await killAtRandom(t, options);
    t.comment(JSON.stringify({ seed: SEED, ...result }));
    t.ok(result.twice > 0, `${result.twice} events are there twice`);
    t.notOk(result.isWhole);
  },
);

for (const servers of [1, 3] as const) {
  const name = `box and server are killed at random, the line is bad: with ${servers} server(s) all is there, once, in order`;
  t.test(name, { skip }, async (t) => {
    const result = await killAtRandom(t, { kills: 6, servers, seed: SEED });
    t.comment(JSON.stringify({ seed: SEED, ...result }));
    t.ok(result.events > 100, 'events came meanwhile');
    t.strictSame(result.gaps, []);
    t.equal(result.twice, 0);
    t.ok(result.isWhole, 'what headquarters has is what tail says');
  });
}

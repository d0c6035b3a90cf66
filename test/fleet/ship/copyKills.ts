import { setTimeout as sleep } from 'node:timers/promises';
import { findCopy } from '../../../src/fleet/copy/copyFiles.ts';
import { readEpoch } from '../../../src/fleet/copy/readCopy.ts';
import { seqOf } from '../../../src/fleet/log/chunk.ts';
import { Random } from '../../../src/vendor/simulate/random.ts';
import { type Cleanup, Daemon, temporaryFolder } from '../../harness/daemon.ts';
import { Endings } from '../../harness/endings.ts';
import { events } from '../../harness/events.ts';
import { CopyingBox } from './copied.ts';

/** A daemon and the shipper that copies its events are killed at random while events come. */

export interface CopyKills {
  readonly events: number;
  /** Of these kills, how many left a torn tail. */
  readonly torn: number;
  /** After a kill, events missing before the seq that had been reported as copied; and lines that the box had not acknowledged to have. */
  readonly faults: readonly string[];
  /** Whether the copy is what `tail` says at the end, byte for byte. */
  readonly isWhole: boolean;
  readonly files: number;
}

/** From the start of a shipper to its end, at most. */
const LIFE_MS = 1_500;
const REQUEST_EVENTS = 200;
/** Between two kills: on a busy machine, where all takes longer, no more come. */
const LIFE_REQUESTS = 20;

export async function killCopying(t: Cleanup, kills: number, seed: number): Promise<CopyKills> {
  const random = new Random(seed);
  const faults: string[] = [];
  let torn = 0;
  let daemon = await Daemon.start(t, [], temporaryFolder(t));
  const box = new CopyingBox(t, undefined, daemon.data);
  let [isSending, requests] = [true, LIFE_REQUESTS];
  const senders = [0, 1].map(async () => {
    while (isSending) {
      if (requests-- > 0) await daemon.post(events(REQUEST_EVENTS)).catch(() => {});
      await sleep(30);
    }
  });
  let copiedBefore = 0;
  for (let kill = 0; kill < kills; kill++) {
    requests = LIFE_REQUESTS;
    const shipper = box.ship();
    const first = shipper.report(({ shipped_seq }) => Number(shipped_seq) > copiedBefore);
    await Promise.all([first, sleep(random.next() * LIFE_MS)]);
    const both = random.chance(0.5);
    await Promise.all([shipper.stop('SIGKILL'), both ? daemon.stop('SIGKILL') : undefined]);
    const [epoch] = (await findCopy([box.copy])).epochs;
    const copied: string[] = [];
    for await (const { lines, last, hole } of readEpoch(epoch!, () => torn++)) {
      if (last > copiedBefore) copied.push(...lines);
      if (hole !== undefined) faults.push(`kill ${kill}: ${hole}`);
    }
    const reported = Number(shipper.reports.at(-1)?.shipped_seq);
    if (both) daemon = await Daemon.run(t, daemon.data, daemon.token);
    const stored = await box.lines(seqOf(copied[0]!) - 1);
    if (stored.slice(0, copied.length).join('') !== copied.join(''))
      faults.push(`kill ${kill}: the copy has other lines than the box`);
    copiedBefore = seqOf(copied.at(-1)!);
    if (copiedBefore < reported) faults.push(`kill ${kill}: ${reported} reported, ${copiedBefore} copied`);
  }
  isSending = false;
  await Promise.all(senders);
  await daemon.stop();
  const last = await box.once();
  if (last.status !== 0) throw new Error(last.stderr);
  const stored = await box.stored();
  return {
    events: stored.split('\n').length - 1,
    torn,
    faults,
    isWhole: box.copied === stored,
    files: box.files.length,
  };
}

/** `npx node test/fleet/ship/copyKills.ts --kills 100 --seed 7` */
if (import.meta.main) {
  const { parseArgs } = await import('node:util');
  const options = {
    kills: { type: 'string', default: '100' },
    seed: { type: 'string', default: '7' },
  } as const;
  const { values } = parseArgs({ options });
  await using endings = new Endings();
  const result = await killCopying(endings, Number(values.kills), Number(values.seed));
  console.log(JSON.stringify({ ...values, ...result }));
  if (!result.isWhole || result.faults.length > 0) process.exitCode = 1;
}

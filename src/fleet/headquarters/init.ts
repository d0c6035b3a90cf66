import {
  DiscardPolicy,
  type JetStreamManager,
  jetstreamManager,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { OperatorError } from '../../base/operatorError.ts';
import { CODE, codeOf } from '../nats/faults.ts';
import { MESSAGE_BYTES, STATUS_STREAM, STATUS_SUBJECTS, STREAM, SUBJECTS } from '../nats/fleetLog.ts';
import { untilReady } from './connection.ts';

/** What was done with a stream. */
export interface MadeStream {
  readonly name: string;
  readonly outcome: 'created' | 'existed' | 'has more copies now';
  readonly copies: number;
}

type Plan = Partial<StreamConfig> & { readonly name: string; readonly subjects: string[] };

/** Nothing in it expires: a full disk refuses new events, and the boxes keep them. Single messages can be deleted. */
const LOG: Plan = {
  name: STREAM,
  subjects: [SUBJECTS],
  description: 'courtd: the events of every box, in the order of its log',
  storage: StorageType.File,
  retention: RetentionPolicy.Limits,
  discard: DiscardPolicy.New,
  max_age: 0,
  max_msgs: -1,
  max_bytes: -1,
  max_msgs_per_subject: -1,
  max_msg_size: MESSAGE_BYTES,
  deny_delete: false,
  deny_purge: true,
  allow_direct: true,
  allow_rollup_hdrs: false,
};
/** A key-value bucket, as NATS's own clients read and create it (ADR-8). */
const STATUS: Plan = {
  ...LOG,
  name: STATUS_STREAM,
  subjects: [STATUS_SUBJECTS],
  description: 'courtd: the status of every box',
  max_msgs_per_subject: 1,
  max_msg_size: -1,
  deny_delete: true,
  deny_purge: false,
  allow_rollup_hdrs: true,
};
const COPIES = 3;
/** How long to wait for a third server if there are two. */
const TWO_SERVERS_MS = 10_000;

/**
 * Creates the stream and the bucket of a fleet: with three copies if there are three servers, else one. Run again it changes nothing
 * but the number of copies.
 * @param servers that the operator has named. @param onWait is called once, if it has to wait.
 * @throws {OperatorError} if one exists with other settings.
 */
export async function createStreams(
  nc: NatsConnection,
  servers: number,
  onWait: () => void,
): Promise<MadeStream[]> {
  const jsm = await jetstreamManager(nc, { checkAPI: false });
  const known = Math.max(servers, nc.info?.connect_urls?.length ?? 0);
  const plans = [LOG, STATUS];
  // Before anything is created: all or nothing.
  const found = await untilReady(() => Promise.all(plans.map((plan) => findStream(jsm, plan))), onWait);
  const made: MadeStream[] = [];
  for (const [i, plan] of plans.entries()) {
    const { name } = plan;
    const before = found[i]?.num_replicas ?? 0;
    if (before >= COPIES) {
      made.push({ name, outcome: 'existed', copies: before });
      continue;
    }
    const copies = await withCopies(
      (count) =>
        before === 0
          ? jsm.streams.add({ ...plan, num_replicas: count })
          : count > before && jsm.streams.update(name, { ...plan, num_replicas: count }),
      known,
    );
    const more = copies > before ? 'has more copies now' : 'existed';
    made.push({ name, outcome: before === 0 ? 'created' : more, copies: Math.max(before, copies) });
  }
  return made;
}

/** @returns its settings; undefined if it does not exist. @throws {OperatorError} if they are others. */
async function findStream(jsm: JetStreamManager, plan: Plan): Promise<StreamConfig | undefined> {
  const info = await jsm.streams.info(plan.name).catch((error) => {
    if (codeOf(error) === CODE.noStream) return undefined;
    throw error;
  });
  if (info === undefined) return undefined;
  const other = Object.entries(plan).flatMap(([name, wanted]) => {
    const is = info.config[name as keyof StreamConfig];
    // The servers leave out members that are false or 0.
    const isSame = `${is ?? ''}` === `${wanted || ''}` || (is ?? false) === wanted || (is ?? 0) === wanted;
    return isSame || name === 'description' ? [] : [`${name} is ${is} instead of ${wanted}`];
  });
  if (other.length === 0) return info.config;
  throw new OperatorError(
    `A stream ${plan.name} with other settings exists: ${other.join(', ')}. Change it with NATS's own program ` +
      `("nats stream edit ${plan.name}"), or use another account.`,
  );
}

/** Three copies, or one if there are not three servers. @returns how many. */
async function withCopies(create: (copies: number) => unknown, servers: number): Promise<number> {
  const startedAt = performance.now();
  return untilReady(async () => {
    try {
      await create(COPIES);
      return COPIES;
    } catch (error) {
      const isAlone = codeOf(error) === CODE.notClustered;
      const areTwo = codeOf(error) === CODE.noPeers && servers < COPIES;
      if (!isAlone && !(areTwo && performance.now() - startedAt > TWO_SERVERS_MS)) throw error;
      await create(1);
      return 1;
    }
  });
}

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
import { MESSAGE_BYTES, STATUS_STREAM, STREAM, statusSubjectOf, subjectOf } from '../log/fleetLog.ts';
import { CODE, codeOf } from '../nats/faults.ts';
import { untilReady } from './withHeadquarters.ts';

type Plan = Partial<StreamConfig> & { readonly name: string; readonly subjects: string[] };

/** Nothing in it expires: a full disk rejects new events, and the boxes keep them. Single messages can be deleted. */
const LOG: Plan = {
  name: STREAM,
  subjects: [subjectOf('*', '*')],
  storage: StorageType.File,
  retention: RetentionPolicy.Limits,
  discard: DiscardPolicy.New,
  max_age: 0,
  max_msg_size: MESSAGE_BYTES,
  deny_delete: false,
  deny_purge: true,
  allow_direct: true,
};
/** A key-value bucket, as NATS's own clients read and create it (ADR-8). */
const STATUS: Plan = {
  ...LOG,
  name: STATUS_STREAM,
  subjects: [statusSubjectOf('>')],
  max_msgs_per_subject: 1,
  max_msg_size: -1,
  deny_delete: true,
  deny_purge: false,
  allow_rollup_hdrs: true,
};

/**
 * Creates the stream and the bucket of a fleet, if they do not exist: with three copies if there are three servers, else one.
 * @returns what was done with each. @throws {OperatorError} if one exists with other settings.
 */
export async function createStreams(nc: NatsConnection) {
  const jsm = await jetstreamManager(nc, { checkAPI: false });
  const plans = [LOG, STATUS];
  // Before anything is created: all or nothing.
  const found = await untilReady(() => Promise.all(plans.map((plan) => copiesOf(jsm, plan))));
  return Array.fromAsync(plans, async (plan, i) => {
    const outcome = found[i] === undefined ? 'created' : 'existed';
    return { name: plan.name, outcome, copies: found[i] ?? (await create(jsm, plan)) };
  });
}

/** @returns how many copies a stream has; undefined if it does not exist. @throws {OperatorError} if its settings are others. */
async function copiesOf(jsm: JetStreamManager, plan: Plan): Promise<number | undefined> {
  const info = await jsm.streams.info(plan.name).catch((error) => {
    if (codeOf(error) === CODE.noStream) return undefined;
    throw error;
  });
  if (info === undefined) return undefined;
  const settings = Object.keys(plan) as (keyof StreamConfig)[];
  // The servers leave out what is false or 0.
  const others = settings.filter((name) => `${info.config[name] || ''}` !== `${plan[name] || ''}`);
  if (others.length === 0) return info.config.num_replicas;
  const listed = others.map((name) => `${name} is ${info.config[name]} instead of ${plan[name]}`).join(', ');
  throw new OperatorError(
    `A stream ${plan.name} with other settings exists: ${listed}. Change it with NATS's own program ("nats stream edit ${plan.name}"), or use another account.`,
  );
}

/** With three copies, or one if there are not three servers, for which it waits a minute. @returns how many. */
async function create(jsm: JetStreamManager, plan: Plan, copies = 3): Promise<number> {
  try {
    await untilReady(() => jsm.streams.add({ ...plan, num_replicas: copies }));
    return copies;
  } catch (error) {
    if (copies === 1 || ![CODE.notClustered, CODE.noPeers].some((code) => code === codeOf(error)))
      throw error;
    return create(jsm, plan, 1);
  }
}

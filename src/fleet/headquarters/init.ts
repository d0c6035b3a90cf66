import { type JetStreamManager, jetstreamManager, type StreamInfo } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { OperatorError } from '../../base/operatorError.ts';
import { codeOf, NO_PEERS, NOT_CLUSTERED, Retries } from './retries.ts';
import {
  differences,
  findStream,
  inWords,
  PLANS,
  REPLICAS,
  type StreamPlan,
  undeletable,
} from './streams.ts';

/** What was done with a stream. */
interface MadeStream {
  readonly name: string;
  readonly outcome: 'made' | 'was there' | 'has more replicas now';
  readonly replicas: number;
}

/** How long to wait for a third server where there are two. */
const TWO_SERVERS_MS = 10_000;

/**
 * Creates the streams that do not exist: with three replicas where there are three servers, else one. Run again it
 * changes nothing, except that a stream made on one server gets its replicas once there are three.
 * @param tell called once where it has to wait, and where the log is one of which nothing can be deleted.
 * @throws {OperatorError} where a stream exists with other settings, or the servers do not agree in time.
 * @throws {PermissionViolationError} where this user may not create streams.
 */
export async function makeStreams(
  nc: NatsConnection,
  servers: number,
  tell: (sentence: string) => void,
): Promise<MadeStream[]> {
  const retries = new Retries(tell);
  const jsm = await jetstreamManager(nc, { checkAPI: false });
  // Before anything is made: all of it, or nothing.
  const found = await retries.until(() => Promise.all(PLANS.map((plan) => refuseOther(jsm, plan))));
  const made: MadeStream[] = [];
  for (const [i, plan] of PLANS.entries()) {
    const known = Math.max(servers, nc.info?.connect_urls?.length ?? 0);
    made.push(await makeStream(jsm, plan, found[i]?.config.num_replicas, known, retries));
    const remark = found[i] && undeletable(found[i]);
    if (remark !== undefined) tell(`${remark.message} ${remark.advice}`);
  }
  return made;
}

/** @returns the stream; undefined where it does not exist. @throws {OperatorError} where it is another one. */
async function refuseOther(jsm: JetStreamManager, plan: StreamPlan): Promise<StreamInfo | undefined> {
  const info = await findStream(jsm, plan);
  if (info === undefined) return undefined;
  const found = differences(plan, info);
  if (found.length === 0) return info;
  throw new OperatorError(
    `There is already a stream ${plan.name} with other settings: ${inWords(found)}. It was not changed. Change it with ` +
      `NATS's own program ("nats stream edit ${plan.name}"), or create the fleet's streams in another account.`,
  );
}

async function makeStream(
  jsm: JetStreamManager,
  plan: StreamPlan,
  replicas: number | undefined,
  servers: number,
  retries: Retries,
): Promise<MadeStream> {
  const { name, settings, description } = plan;
  const subjects = [...plan.subjects];
  if (replicas === undefined) {
    const add = (count: number) =>
      jsm.streams.add({ name, subjects, description, ...settings, num_replicas: count });
    return { name, outcome: 'made', replicas: await asMany(add, servers, retries) };
  }
  if (replicas >= REPLICAS) return { name, outcome: 'was there', replicas };
  const update = (count: number) =>
    count <= replicas
      ? Promise.resolve()
      : jsm.streams.update(name, { subjects, description, ...settings, num_replicas: count });
  const now = Math.max(replicas, await asMany(update, servers, retries));
  return { name, outcome: now > replicas ? 'has more replicas now' : 'was there', replicas: now };
}

/** Three replicas, or one where there are no three servers to be had. @returns how many. */
async function asMany(
  make: (replicas: number) => Promise<unknown>,
  servers: number,
  retries: Retries,
): Promise<number> {
  const startedAt = performance.now();
  return retries.until(async () => {
    try {
      await make(REPLICAS);
      return REPLICAS;
    } catch (error) {
      const isAlone = codeOf(error) === NOT_CLUSTERED;
      const areTwo = codeOf(error) === NO_PEERS && servers < REPLICAS;
      if (!isAlone && !(areTwo && performance.now() - startedAt > TWO_SERVERS_MS)) throw error;
      await make(1);
      return 1;
    }
  });
}

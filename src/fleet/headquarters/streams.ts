import {
  DiscardPolicy,
  type JetStreamManager,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
  type StreamInfo,
} from '@nats-io/jetstream';
import { STATUS_STREAM, STATUS_SUBJECTS, STREAM, SUBJECTS } from '../nats/fleetLog.ts';
import { codeOf, NO_STREAM } from './retries.ts';

/** How the streams of a fleet must be configured. */

type StreamSettings = Pick<
  StreamConfig,
  | 'storage'
  | 'retention'
  | 'discard'
  | 'max_age'
  | 'max_msgs'
  | 'max_bytes'
  | 'max_msgs_per_subject'
  | 'deny_purge'
  | 'allow_direct'
  | 'allow_rollup_hdrs'
>;

export interface StreamPlan {
  readonly name: string;
  readonly subjects: readonly string[];
  readonly description: string;
  readonly settings: StreamSettings;
}

/**
 * What is kept has no limit, and nothing is removed from it: a full disk refuses new events, and boxes wait. Without `deny_delete`,
 * which NATS lets nobody lift: whoever runs headquarters can delete a message (design 8).
 */
export const LOG: StreamPlan = {
  name: STREAM,
  subjects: [SUBJECTS],
  description: 'courtd: the events of every box, in the order of its log',
  settings: {
    storage: StorageType.File,
    retention: RetentionPolicy.Limits,
    discard: DiscardPolicy.New,
    max_age: 0,
    max_msgs: -1,
    max_bytes: -1,
    max_msgs_per_subject: -1,
    deny_purge: true,
    allow_direct: true,
    allow_rollup_hdrs: false,
  },
};

/** The last status of each box. `discard: old`, since `new` would refuse the next one. */
export const STATUS: StreamPlan = {
  name: STATUS_STREAM,
  subjects: [STATUS_SUBJECTS],
  description: 'courtd: the last status of every box',
  settings: {
    ...LOG.settings,
    discard: DiscardPolicy.Old,
    max_msgs_per_subject: 1,
    deny_purge: false,
  },
};

export const PLANS: readonly StreamPlan[] = [LOG, STATUS];

/** @returns the sentence for a log of an earlier `fleet init`, and what to do; undefined where its messages can be deleted. */
export function undeletable({ config }: StreamInfo): { message: string; advice: string } | undefined {
  if (config.name !== STREAM || !config.deny_delete) return undefined;
  return {
    message: `${STREAM} was made by an earlier "courtd fleet init", with deny_delete, which NATS lets nobody lift: no message can be deleted from it, such as for a player who is to be erased.`,
    advice:
      'All else works as before. Where messages must be deleted, make the streams in another account and have the boxes ship there: each sends all that it still has.',
  };
}

/** @returns the stream as it is; undefined where there is none. */
export async function findStream(jsm: JetStreamManager, plan: StreamPlan): Promise<StreamInfo | undefined> {
  return jsm.streams.info(plan.name).catch((error) => {
    if (codeOf(error) === NO_STREAM) return undefined;
    throw error;
  });
}

/** Of a stream, where there are three servers. */
export const REPLICAS = 3;

export interface Difference {
  readonly setting: string;
  readonly is: string;
  readonly wanted: string;
}

/** @returns every setting of an existing stream that differs from the plan, except replicas. */
export function differences({ subjects, settings }: StreamPlan, { config }: StreamInfo): Difference[] {
  const found = { subjects: subjects.join(' '), ...settings };
  const actual = { ...config, subjects: (config.subjects ?? []).join(' ') };
  return Object.entries(found).flatMap(([setting, wanted]) => {
    const is = actual[setting as keyof typeof actual] ?? absent(wanted);
    return is === wanted ? [] : [{ setting, is: String(is), wanted: String(wanted) }];
  });
}

/** The servers leave out what is false or 0. */
function absent(wanted: unknown): unknown {
  return typeof wanted === 'boolean' ? false : typeof wanted === 'number' ? 0 : '';
}

/** @returns the differences in words: "max_age is 1000 (wanted: 0)". */
export function inWords(found: readonly Difference[]): string {
  return found.map(({ setting, is, wanted }) => `${setting} is ${is} (wanted: ${wanted})`).join(', ');
}

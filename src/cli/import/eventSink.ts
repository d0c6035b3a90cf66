import { setTimeout as sleep } from 'node:timers/promises';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { membersOf } from '../../base/json.ts';
import { BUSY_GIVE_UP_MS, START_BARRIER_MS } from '../../base/limits.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { askStatus, unknownAnswer } from '../../control/controlClient.ts';
import { Problem, type ProblemMembers } from '../../protocol/errors.ts';
import type { CourtEvent } from '../../protocol/event.ts';
import {
  type BatchLimits,
  type FileBatch,
  FileFault,
  type FileLine,
  REQUEST_LIMITS,
  sentenceOf,
} from '../../session/import/eventFile.ts';
import { explain } from '../../store/open/openErrors.ts';
import { openStoppedStore } from '../../store/stoppedStore.ts';
import type { Store } from '../../store/store.ts';
import type { Counts } from '../../store/write/appender.ts';
import { BoxConnection } from '../../vendor/camera/boxConnection.ts';
import { decide } from '../../vendor/camera/retryPolicy.ts';
import { say } from '../terminal/output.ts';

/** Where events go: each batch whole or not at all. */
export interface EventSink {
  readonly limits: BatchLimits;
  /**
   * @throws {FileFault} where the daemon has a rule that this command does not know.
   * @throws {OperatorError} Then nothing of the batch is stored.
   */
  send(batch: FileBatch): Promise<Counts>;
  close(): Promise<void>;
}

/** Of what the daemon takes at a time: small enough to be parsed at once, and to share a commit with cameras. */
const DAEMON_LIMITS: BatchLimits = { events: 100, bytes: 256 * 1024 };
/** Seconds between two tries, where the daemon does not say when. */
const RETRY_S = 0.25;

/** @returns the daemon where it runs, else the database. @throws {OperatorError} where events cannot be stored. */
export async function openSink(directory: DataDirectory): Promise<EventSink> {
  const store = await openStoppedStore(directory, (why) =>
    say(`courtd: ${why} Import again when that is fixed.`),
  );
  if (store !== undefined) {
    const send = ({ events }: FileBatch) => insist(directory, () => append(store, directory, events));
    return { limits: REQUEST_LIMITS, send, close: () => store.close() };
  }
  if ((await askStatus(directory)) === undefined)
    throw new OperatorError(
      `Another command writes to ${directory}, or the daemon is just starting or stopping: import again in a moment.`,
    );
  const box = new BoxConnection(directory.file('controlSocket'));
  const send = ({ lines }: FileBatch) => post(box, directory, lines);
  return { limits: DAEMON_LIMITS, send, close: async () => box.close() };
}

/** Why nothing is stored now. */
interface Refusal {
  /** Of PROBLEMS, where it is known. */
  readonly code: unknown;
  readonly waitMs: number;
  /** For whoever has waited in vain. */
  readonly sentence: string;
}

/** Tries until it is stored: the daemon may be starting, or another program may have the database locked. */
async function insist(directory: DataDirectory, attempt: () => Promise<Counts | Refusal>): Promise<Counts> {
  const giveUpAt = performance.now() + START_BARRIER_MS;
  for (;;) {
    const result = await attempt();
    if ('accepted' in result) return result;
    if (result.code === 'storage_full')
      throw new OperatorError(`The disk of ${directory} is full: make room and import again.`);
    if (result.code === 'storage_failed')
      throw new OperatorError(
        `The database in ${directory} is damaged: keep a copy of it, and restore a backup.`,
      );
    if (performance.now() > giveUpAt) throw new OperatorError(result.sentence);
    await sleep(result.waitMs);
  }
}

/** Into the database, while no daemon runs: as the daemon stores, behind its lock. */
async function append(
  store: Store,
  directory: DataDirectory,
  events: readonly CourtEvent[],
): Promise<Counts | Refusal> {
  try {
    return await store.append(events);
  } catch (error) {
    if (!(error instanceof Problem)) throw explain(error, directory);
    const sentence = `The database in ${directory} is locked by another program: try again when it is done.`;
    return { code: error.code, waitMs: BUSY_GIVE_UP_MS, sentence };
  }
}

/**
 * To the running daemon, which takes events over `control.sock` as it does from cameras. It may restart meanwhile: a batch that was
 * stored before its answer was lost is then counted as duplicates.
 */
async function post(
  box: BoxConnection,
  directory: DataDirectory,
  lines: readonly FileLine[],
): Promise<Counts> {
  const list = lines.map(({ text }) => text.toString()).join(',');
  // The largest event leaves no room for brackets.
  const body = Buffer.from(lines.length === 1 ? list : `[${list}]`);
  return insist(directory, async () => {
    const sentAt = performance.now();
    const answer = await box.post(body);
    const tookMs = performance.now() - sentAt;
    const { status, conflicts = 0 } = answer;
    const decision = decide(answer, lines.length);
    if (decision.kind === 'stored') {
      // Cameras get at least half of the time.
      await sleep(tookMs);
      const { duplicates } = decision;
      return { accepted: lines.length - duplicates, duplicates, conflicts };
    }
    if (decision.kind === 'split') {
      // This box takes less in one request than others do (`--body-limit`).
      const half = lines.length / 2;
      const first = await post(box, directory, lines.slice(0, half));
      const rest = await post(box, directory, lines.slice(half));
      return {
        accepted: first.accepted + rest.accepted,
        duplicates: first.duplicates + rest.duplicates,
        conflicts: first.conflicts + rest.conflicts,
      };
    }
    if (decision.kind !== 'retry') throw faultIn(lines, answer.body);
    if (status === 404) throw unknownAnswer(directory, status);
    const what = status === 0 ? 'has stopped, or does not answer' : 'has been too busy for the events';
    const sentence = `The daemon of ${directory} ${what}: import again when it is running, or after you have stopped it for good.`;
    const waitMs = 1_000 * (decision.retryAfterS ?? RETRY_S);
    return { code: membersOf(answer.body).code, waitMs, sentence };
  });
}

/** @param body the problem that the daemon has answered with. */
function faultIn(lines: readonly FileLine[], body: string): FileFault {
  const problem = membersOf(body) as ProblemMembers & { readonly error?: string };
  const [first] = problem.invalid ?? [];
  const members =
    first === undefined
      ? problem
      : { details: first.issues, details_total: first.issues_total ?? first.issues.length };
  const message = sentenceOf({ message: problem.error ?? '', members });
  return new FileFault(lines[first?.index ?? 0]?.number ?? null, message);
}

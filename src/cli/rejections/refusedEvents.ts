import type { DataDirectory } from '../../base/dataDirectory.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { counted, isoTime } from '../../base/units.ts';
import { askDaemon, followDaemon } from '../../control/controlClient.ts';
import { DROP_REJECTIONS_PATH, FLUSH_REFUSED_PATH } from '../../control/rejectionRoutes.ts';
import { type BodyPart, bodyParts } from '../../protocol/bodyParts.ts';
import { decodeBatch } from '../../protocol/decodeBatch.ts';
import { type Fault, Problem } from '../../protocol/errors.ts';
import type { EventRules } from '../../protocol/validate.ts';
import { type DataOption, withDatabase } from '../../store/open/withDatabase.ts';
import { withRefused } from '../../store/rejections/refusedBodies.ts';
import type { WaitingBody } from '../../store/rejections/refusedBody.ts';
import type { EventPlace } from '../../store/rejections/refusedIndex.ts';
import { StoredEvents } from '../../store/rejections/storedEvents.ts';
import { dropRejections } from '../../store/rejections/storedRejections.ts';
import type { Age } from '../../store/retention/ageRule.ts';
import { rulesOf } from '../import/importFiles.ts';
import { confirmed } from '../terminal/confirm.ts';
import { say } from '../terminal/output.ts';
import { fileSink, stdoutSink } from '../terminal/sinks.ts';

/** How long it may take to write what waits in memory, beside a busy disk. */
const FLUSH_MS = 30_000;

export interface RefusedOptions extends DataOption {
  readonly source?: string;
  readonly code?: string;
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  readonly since?: number;
  readonly output?: string;
}

/** `courtd rejections export`: the events of refused requests that are neither imported nor stored, one a line. */
export async function exportRefused({ data, source, code, since, output }: RefusedOptions): Promise<void> {
  const rules = await rulesOf(data);
  const filter = { sender: source, code, sinceMs: since };
  await withDatabase({ data }, async (db) => {
    await flush(data);
    const sink = output === undefined ? stdoutSink() : fileSink(output);
    let [events, requests, isLeft] = [0, 0, false];
    await withRefused(data, async (refused) => {
      const stored = new StoredEvents(db);
      stored.readNewest();
      for (const body of refused.bodies(filter, sayDamaged)) {
        const { lines, done } = linesOf(body, rules, stored);
        refused.tickOffStored(done);
        if (lines.length > 0) requests++;
        events += lines.length;
        for (const line of lines) await sink.write(line);
      }
      isLeft = refused.waiting().length > 0;
    });
    sink.commit();
    if (output !== undefined)
      say(`${counted(events, 'event')} of ${counted(requests, 'request')} written to ${output}.`);
    else if (events === 0) say(isLeft ? NONE_MATCHES : NONE);
  });
}

/** What has been refused within the last second is on disk then. Where the daemon does not do that, the rest is exported all the same. */
async function flush(data: DataDirectory): Promise<void> {
  try {
    await askDaemon(data, FLUSH_REFUSED_PATH, FLUSH_MS);
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    say(`${error.message} What was refused just now may be missing here.`);
    process.exitCode = 1;
  }
}

/** The others are exported all the same. */
function sayDamaged(requestId: string): void {
  say(`The body of ${requestId} is damaged on the disk, and was left out.`);
  process.exitCode = 1;
}

const NONE = 'No event of a refused request waits.';
const NONE_MATCHES = 'No event that matches waits.';
/** The fault of a body that cannot be parted into events. */
const NO_EVENTS: Fault = {
  path: '',
  message: 'must be a JSON object, which is an event, or an array of them',
};

interface Lines {
  /** Each with its line end. */
  readonly lines: readonly string[];
  /** Where those are that are stored meanwhile. */
  readonly done: readonly EventPlace[];
}

/** @returns a line for each event that waits. */
function linesOf(body: WaitingBody, rules: EventRules, stored: StoredEvents): Lines {
  const { requestId, receivedMs, bytes, indexes } = body;
  const line = (index: number, faults: readonly Fault[], last: string) =>
    `{"request_id":${JSON.stringify(requestId)},"index":${index},"received_at":"${isoTime(receivedMs)}",` +
    `"faults":${JSON.stringify(faults)},${last}}\n`;
  const parts = bodyParts(bytes);
  if (parts === undefined)
    return { lines: [line(0, [NO_EVENTS], `"body":"${bytes.toString('base64')}"`)], done: [] };
  const waiting = parts.filter(({ index }) => indexes.has(index));
  const isDone = ({ key }: BodyPart) => key !== undefined && stored.has(key);
  return {
    // In JSON, a line end stands only between two tokens.
    lines: waiting
      .filter((part) => !isDone(part))
      .map(({ index, text }) =>
        line(index, faultsOf(text, rules), `"event":${text.toString().replace(/[\r\n]/g, ' ')}`),
      ),
    done: waiting.filter(isDone).map(({ index }) => ({ body: body.id, place: index })),
  };
}

/** @returns all faults of an event; none where it is valid. */
function faultsOf(text: Buffer, rules: EventRules): readonly Fault[] {
  // Alone an array would be a batch.
  if (text.toString('latin1', 0, 1) !== '{') return [{ path: '', message: 'must be an object' }];
  try {
    decodeBatch(text, rules, Number.POSITIVE_INFINITY);
    return [];
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return error.members.details ?? [{ path: '', message: error.message }];
  }
}

export interface DropOptions extends DataOption {
  /** Seconds; absent with `all`. */
  readonly olderThan?: number;
  readonly all?: boolean;
  readonly yes?: boolean;
}

/** `courtd rejections drop`: lets refused requests go, with their events, and takes them off the list. */
export async function drop({ data, olderThan, yes }: DropOptions): Promise<void> {
  const nowMs = Date.now();
  const age: Age =
    olderThan === undefined
      ? { beforeMs: Number.MAX_SAFE_INTEGER, nowMs: Number.MAX_SAFE_INTEGER - 1 }
      : { beforeMs: nowMs - olderThan * 1_000, nowMs };
  await withDatabase({ data }, async (db) => {
    await withRefused(data, async (refused) => {
      const events = refused.waitingIn(refused.older(age));
      const of = refused.waiting().reduce((sum, one) => sum + one.events, 0);
      if (yes === true || 2 * events <= of) return;
      const what = `${events} of ${counted(of, 'event')} that nobody has mended would be lost`;
      await confirmed(what, 'Drop them?', 'nothing was dropped');
    });
    let rejections = 0;
    const answer = await followDaemon<{ dropped: number }>(data, DROP_REJECTIONS_PATH, age, ({ dropped }) => {
      rejections = dropped;
    });
    if (answer !== 'whole') rejections = dropRejections(db, age);
    let [bodies, events] = [0, 0];
    await withRefused(data, async (refused) => {
      const ids = refused.older(age);
      bodies = ids.length;
      refused.remove(ids);
      events = refused.letGo;
    });
    const kept = bodies === 1 ? '1 body' : `${bodies} bodies`;
    say(
      `Dropped ${counted(rejections, 'rejection')} and ${kept} with ${counted(events, 'event')} that waited.`,
    );
  });
}

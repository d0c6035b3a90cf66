import type { DataDirectory } from '../../base/dataDirectory.ts';
import { fileSink } from '../../base/fileSink.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { counted } from '../../base/units.ts';
import { followDaemon } from '../../control/controlClient.ts';
import { rulesOf } from '../../control/eventRules.ts';
import { DROP_REJECTIONS_PATH, flushRefused } from '../../control/rejectionRoutes.ts';
import { type DataOption, withDatabase } from '../../store/open/withDatabase.ts';
import { withRefused } from '../../store/rejections/refusedBodies.ts';
import { refusedLines } from '../../store/rejections/refusedLines.ts';
import { StoredLookup } from '../../store/rejections/storedLookup.ts';
import { dropRejections } from '../../store/rejections/storedRejections.ts';
import type { Age } from '../../store/retention/ageRule.ts';
import { confirmed } from '../terminal/confirm.ts';
import { type JsonOption, printJson, say, stdoutSink } from '../terminal/output.ts';

interface RefusedOptions extends DataOption {
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
      const stored = new StoredLookup(db);
      stored.readNewest();
      for (const body of refused.bodies(filter, sayDamaged)) {
        const { lines, done } = refusedLines(body, rules, stored);
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

/** Where the daemon does not do that, the rest is exported all the same. */
async function flush(data: DataDirectory): Promise<void> {
  try {
    await flushRefused(data);
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

interface DropOptions extends DataOption, JsonOption {
  /** Seconds; absent with `all`. */
  readonly olderThan?: number;
  readonly all?: boolean;
  readonly yes?: boolean;
}

/** `courtd rejections drop`: lets refused requests go, with their events, and takes them off the list. */
export async function drop({ data, olderThan, yes, json }: DropOptions): Promise<void> {
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
    if (json) return printJson({ rejections, refused_bodies: bodies, events });
    const kept = counted(bodies, 'body', 'bodies');
    say(
      `Dropped ${counted(rejections, 'rejection')} and ${kept} with ${counted(events, 'event')} that waited.`,
    );
  });
}

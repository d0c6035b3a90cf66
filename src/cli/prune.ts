import { lockPrune } from '../store/lock.ts';
import { oldEvents } from '../store/old.ts';
import { pruneEvents } from '../store/prune.ts';
import { type DataOption, withDatabase } from './data.ts';
import { isoTime, type JsonOption, mebibytes, Progress, printJson, say } from './output.ts';

export interface PruneOptions extends DataOption, JsonOption {
  /** Seconds. */
  readonly olderThan: number;
  readonly type?: string;
  readonly dryRun?: boolean;
}

/** `courtd prune --older-than TIME`. */
export async function prune(options: PruneOptions): Promise<void> {
  const nowMs = Date.now();
  const beforeMs = nowMs - options.olderThan * 1000;
  const which = { beforeMs, nowMs, ...(options.type === undefined ? {} : { type: options.type }) };
  const progress = new Progress();
  const { events, sessions, bytes } = await withDatabase(options, async (db) => {
    if (options.dryRun) return count(oldEvents(db, which));
    const lock = lockPrune(options.data);
    try {
      return await pruneEvents(db, which, (doing, done) => progress.show(() => PROGRESS[doing](done)));
    } finally {
      lock.close();
    }
  });
  progress.clear();
  if (options.json) {
    const before = isoTime(beforeMs);
    return printJson({ dry_run: options.dryRun ?? false, received_before: before, events, sessions, bytes });
  }
  const what = `${events} ${options.type === undefined ? '' : `${options.type} `}events of ${sessions} sessions`;
  const when = `received before ${isoTime(beforeMs)}`;
  if (options.dryRun) return say(`${what}, ${when}, would be deleted.`);
  say(`${what}, ${when}, deleted; ${mebibytes(bytes)} given back to the file system.`);
}

const PROGRESS = {
  events: (done: number) => `${done} events deleted`,
  keys: (done: number) => `${done} keys deleted`,
  pages: (done: number) => `${mebibytes(done)} given back`,
} as const;

function count(lists: ReturnType<typeof oldEvents>) {
  const sessions = new Set<number>();
  let events = 0;
  for (const list of lists) {
    events += list.length;
    for (const { session } of list) sessions.add(session);
  }
  return { events, sessions: sessions.size, bytes: 0 };
}

import { listSessions, type SessionLine, summarizeSession } from '../../store/read/sessions.ts';
import { type DataOption, withDatabase } from '../options/withDatabase.ts';
import {
  type Cells,
  counted,
  type JsonOption,
  printJson,
  printPairs,
  say,
  stdoutSink,
  tableLine,
} from '../terminal/output.ts';

export interface ListOptions extends DataOption, JsonOption {
  readonly last?: number;
}

/** `courtd session list`: written as it is read, because there may be a million. */
export async function list({ last, json, ...options }: ListOptions): Promise<void> {
  const isEmpty = await withDatabase(options, async (db) => {
    const { write } = stdoutSink();
    const print = json ? jsonList(write) : table(write);
    for (const sessions of listSessions(db, last)) await print.some(sessions);
    return await print.end();
  });
  if (isEmpty && !json) say('No event has been stored yet.');
}

interface Printer {
  some(sessions: readonly SessionLine[]): Promise<void>;
  /** @returns whether there was none. */
  end(): Promise<boolean>;
}

type Write = (text: string) => Promise<void>;

/** One array, also of none. */
function jsonList(write: Write): Printer {
  let before = '[';
  return {
    async some(sessions) {
      const texts = sessions.map((session) => `\n  ${JSON.stringify(session)}`);
      await write(`${before}${texts.join()}`);
      before = ',';
    },
    async end() {
      await write(before === '[' ? '[]\n' : '\n]\n');
      return before === '[';
    },
  };
}

/** Columns are as wide as the first sessions need; a longer name further down shifts its own line. */
function table(write: Write): Printer {
  let line: ((cells: Cells) => string) | undefined;
  return {
    async some(sessions) {
      const rows = sessions.map((session) => Object.values(session).map((cell) => cell ?? '-'));
      const headings = line === undefined ? [Object.keys(sessions[0]!)] : [];
      line ??= tableLine([...headings, ...rows]);
      await write([...headings, ...rows].map((row) => `${line?.(row)}\n`).join(''));
    },
    end: async () => line === undefined,
  };
}

/** `courtd session show S`. */
export async function show(name: string, options: DataOption & JsonOption): Promise<void> {
  const summary = await withDatabase(options, (db) => summarizeSession(db, name));
  if (options.json) return printJson(summary);
  const { by_type, by_court, by_revision, lateness, ...line } = summary;
  const counts = (of: Readonly<Record<string, number>>) =>
    Object.entries(of)
      .map(([what, count]) => `${what} ${count}`)
      .join(', ');
  const { min_s, mean_s, max_s, future_events } = lateness;
  printPairs([
    ...Object.entries(line).map(
      ([what, value]) => [what.replaceAll('_', ' '), String(value ?? '-')] as const,
    ),
    ['by type', counts(by_type)],
    ['by court', counts(by_court)],
    ['by revision', counts(by_revision)],
    [
      'lateness',
      `least ${min_s} s, mean ${mean_s} s, most ${max_s} s; ${counted(future_events, 'event')} came before ${future_events === 1 ? 'it' : 'they'} happened`,
    ],
  ]);
  if (summary.conflicts > 0) {
    say(
      `${counted(summary.conflicts, 'event')} came again with other content; the first is kept. A camera that corrects an event must raise its revision, and two cameras must not share an event_id: a UUID is unique.`,
    );
  }
}

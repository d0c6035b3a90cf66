import { listSessions, summarizeSession } from '../store/sessions.ts';
import { type DataOption, withDatabase } from './data.ts';
import { type JsonOption, printJson, printPairs, printTable, say } from './output.ts';

/** `courtd session list`. */
export async function list(options: DataOption & JsonOption): Promise<void> {
  const sessions = await withDatabase(options, (db) => [...listSessions(db)]);
  if (options.json) return printJson(sessions);
  if (sessions.length === 0) return say('No event has been stored yet.');
  const rows = sessions.map((session) => Object.values(session).map((cell) => cell ?? '-'));
  printTable(Object.keys(sessions[0]!), rows);
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
      `least ${min_s} s, mean ${mean_s} s, most ${max_s} s; ${future_events} events came before they happened`,
    ],
  ]);
  if (summary.conflicts > 0) {
    say(
      `${summary.conflicts} events came again with other content; the first is kept. A camera that corrects an event must raise its revision, and two cameras must not share an event_id: a UUID is unique.`,
    );
  }
}

import type { WaitingEvents } from '../store/refused/refusedFile.ts';
import type { OldToken } from '../store/tokens/tokenUse.ts';
import type { SourceReport } from '../telemetry/source.ts';
import type { TelemetryReport } from '../telemetry/telemetry.ts';
import { problem, REJECTED, type Rejected, type StatusProblem } from './problems.ts';
import { THRESHOLDS } from './thresholds.ts';

/** What the sources are judged by. */
export interface SourceFindings extends TelemetryReport {
  /** Tokens that end, and are still used. */
  readonly old_tokens: readonly OldToken[];
  /** Rejected events that are kept, by sender. */
  readonly waiting: readonly WaitingEvents[];
  /** Silent cameras are not reported now. */
  readonly is_quiet_hours: boolean;
}

/** Senders whose rejected requests are reported, those with the most: a name may be anything that was sent. */
const SENDERS_REPORTED = 20;

/** @returns the problems of the sources of a venue. */
export function sourceProblems(findings: SourceFindings): StatusProblem[] {
  const { sources, quiet_venue, old_tokens, is_quiet_hours } = findings;
  const overdue = sources.filter(({ state }) => state === 'overdue');
  const silent = [
    ...(quiet_venue === null ? [] : [problem('quiet', quiet_venue.for_s, quiet_venue.sources)]),
    ...silentProblems(sources.filter(({ state }) => state === 'silent')),
    ...overdue.map((source) => problem('source_overdue', source, source.quiet_s ?? 0)),
  ];
  return [
    ...(is_quiet_hours ? [] : silent),
    ...rejectedProblems(findings),
    ...sources.flatMap((source) => [
      ...(source.conflicts ? [problem('conflicts', source, source.conflicts)] : []),
      ...(source.odd_times > 0 ? [problem('odd_time', source, source.odd_times)] : []),
      ...(source.odd_fields.length > 0 ? [problem('odd_payload', source, source.odd_fields)] : []),
    ]),
    ...clockProblems(sources),
    ...old_tokens
      .filter(({ ends_in_s }) => ends_in_s < THRESHOLDS.old_token_s)
      .map(({ id, ends_in_s, clients }) =>
        problem('old_token', id, ends_in_s, clients.map((client) => nameOf(client, sources)).join(' and ')),
      ),
  ];
}

/** One for each source whose court plays on without it, and one for each address of which nothing comes. */
function silentProblems(silent: readonly SourceReport[]): StatusProblem[] {
  const byClient = Map.groupBy(silent, ({ missing_s, client }) => (missing_s === null ? null : client));
  const alone = byClient.get(null) ?? [];
  byClient.delete(null);
  return [
    ...alone.map(({ source, court_id, client, quiet_s }) =>
      problem('source_silent', `${source} on ${court_id}`, client, quiet_s ?? 0, false),
    ),
    ...[...byClient].map(([client, [first, ...more]]) => {
      const { source, court_id, missing_s } = first!;
      const others = more.length === 0 ? '' : ` and ${more.length} more`;
      const from = `${source} on ${court_id}${others} (${client})`;
      return problem('source_silent', from, client, missing_s ?? 0, true);
    }),
  ];
}

/** @param offset the camera's clock less the box's, in seconds; null if it is not known. */
export function isClockOff(offset: number | null): offset is number {
  return offset !== null && Math.abs(offset) > THRESHOLDS.clock_s;
}

function clockProblems(sources: readonly SourceReport[]): StatusProblem[] {
  const known = sources.filter(({ clock_offset_s }) => clock_offset_s !== null);
  const off = known.filter(({ clock_offset_s }) => isClockOff(clock_offset_s));
  const offsets = off.map(({ clock_offset_s }) => clock_offset_s!);
  const areAlike =
    off.length === known.length && Math.max(...offsets) - Math.min(...offsets) <= THRESHOLDS.clock_s;
  return off.map((source, i) => problem('clock_off', source, offsets[i]!, areAlike));
}

/** One for each sender: a camera, or an address if the camera could not be read. */
function rejectedProblems({ refusals, waiting, sources }: SourceFindings): StatusProblem[] {
  const found: StatusProblem[] = [];
  const rejected = new Map<string, Rejected>();
  for (const { code, client, source, court_id, requests, ago_s, is_over } of refusals) {
    const from = source === null ? nameOf(client, sources) : `${source} on ${court_id ?? '?'}`;
    if (code === 'unauthorized') {
      if (!is_over && requests >= THRESHOLDS.unauthorized)
        found.push(problem('token_refused', from, requests, ago_s));
    } else if (ago_s > THRESHOLDS.refused_s) continue;
    else if (code === 'internal_error') found.push(problem('bug', from, requests));
    else if (
      REJECTED[code] !== undefined &&
      (code !== 'rate_limited' || requests >= THRESHOLDS.rate_limited)
    ) {
      const sender = source ?? client;
      const { last } = rejected.get(sender) ?? {};
      const newest = last === undefined || ago_s < last.agoS ? { code, agoS: ago_s } : last;
      const all = requests + (last?.requests ?? 0);
      rejected.set(sender, { sender, from, last: { ...newest, requests: all }, events: 0 });
    }
  }
  for (const { sender, events } of waiting) {
    const from = nameOf(sender, sources);
    rejected.set(sender, { sender, from, last: undefined, ...rejected.get(sender), events });
  }
  return [
    ...found,
    ...[...rejected.values()].slice(0, SENDERS_REPORTED).map((one) => problem('refused', one)),
  ];
}

/** @returns an address with the sources that are known there; any other name as it is. */
function nameOf(client: string, sources: readonly SourceReport[]): string {
  const names = [...new Set(sources.filter((one) => one.client === client).map(({ source }) => source))];
  const some = names.slice(0, 2).join(', ');
  return names.length === 0 ? client : `${client} (${some}${names.length > 2 ? ', ...' : ''})`;
}

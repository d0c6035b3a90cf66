import { span } from '../base/units.ts';
import type { RefusalReport } from '../telemetry/refusalBook.ts';
import type { SourceReport } from '../telemetry/source.ts';
import type { SourceFindings } from './facts.ts';
import type { LastingProblem, StatusProblem } from './finding.ts';
import { type PROBLEM_TEXTS, problem } from './problemTexts.ts';
import { THRESHOLDS } from './thresholds.ts';

/** What is wrong with the sources of a venue: each once for each kind of problem. */

type RefusalCode = RefusalReport['code'];

const LOST = 'Tell the vendor of the camera what is wrong: until that is fixed, its events are refused.';
const WRONG = 'Tell the vendor of the camera what is wrong.';
/** What to do about refusals that a person can do something about; those that are not here pass by themselves. */
const REFUSALS: Partial<Record<RefusalCode, string>> = {
  invalid_event: LOST,
  invalid_json: LOST,
  invalid_encoding: LOST,
  too_deep: LOST,
  too_many_events: 'Tell the vendor of the camera to send at most 500 events in a request.',
  body_too_large: 'Have the camera send smaller requests, or raise COURTD_BODY_LIMIT.',
  unsupported_media_type: WRONG,
  unsupported_encoding: WRONG,
  not_found: 'Look at the address that this camera was given: it ends in /v1/events.',
  method_not_allowed: 'Look at the address that this camera was given, and tell its vendor.',
  expectation_failed: WRONG,
  internal_error: 'A bug in courtd: please report it, with the log ("journalctl -u courtd").',
  rate_limited: 'Have the camera send more events in a request, or raise COURTD_RATE_LIMIT.',
};

/** What may be wrong with a source: for those who count problems, where none is a number too. */
export const SOURCE_CODES = [
  'quiet',
  'source_silent',
  'source_overdue',
  'token_refused',
  'refused',
  'tls_handshakes',
  'conflicts',
  'clock_off',
  'odd_time',
  'odd_payload',
  'old_token',
] as const satisfies readonly (keyof typeof PROBLEM_TEXTS)[];

/** The problems that quiet hours hold back. */
const HELD_BACK: readonly string[] = ['source_silent', 'source_overdue', 'quiet'];

/** Whether somebody is to be told of it now. Else it is not over either: whoever was told before is not told that it is. */
export function isToldNow(
  { code }: StatusProblem,
  { is_quiet_hours }: Pick<SourceFindings, 'is_quiet_hours'>,
): boolean {
  return !is_quiet_hours || !HELD_BACK.includes(code);
}

/** @returns the same without what a camera has sent: the answer to a refused request may quote it, and a player may be named there. */
export function withoutQuotes<Findings extends SourceFindings>(daemon: Findings): Findings {
  return { ...daemon, refusals: daemon.refusals.map((refusal) => ({ ...refusal, error: '' })) };
}

/** @returns what is wrong with them, in quiet hours too. */
export function sourceProblems({
  sources,
  refusals,
  handshakes,
  quiet_venue,
  old_tokens,
}: SourceFindings): LastingProblem[] {
  const inState = (wanted: SourceReport['state']) => sources.filter(({ state }) => state === wanted);
  return [
    ...(quiet_venue === null ? [] : [problem('quiet', quiet_venue)]),
    ...silentProblems(inState('silent')),
    ...inState('overdue').map((source) => problem('source_overdue', source, source.quiet_s ?? 0)),
    ...refusalProblems(refusals, sources),
    ...handshakes
      .filter(({ reason, times }) => reason !== null || times >= THRESHOLDS.handshakes_given_up)
      .map((failing) => problem('tls_handshakes', nameOf(failing.client, sources), failing)),
    ...sources
      .filter(({ in_conflict }) => in_conflict > 0)
      .map((source) => problem('conflicts', source, source.in_conflict)),
    ...clockProblems(sources),
    ...sources
      .filter(({ odd_times }) => odd_times > 0)
      .map((source) => problem('odd_time', source, source.odd_times)),
    ...sources
      .filter(({ odd_fields }) => odd_fields.length > 0)
      .map((source) => problem('odd_payload', source, source.odd_fields)),
    ...old_tokens
      .filter(({ ends_in_s }) => ends_in_s < THRESHOLDS.old_token_s)
      .map(({ id, ends_in_s, clients }) =>
        problem('old_token', id, ends_in_s, clients.map((client) => nameOf(client, sources)).join('; ')),
      ),
  ];
}

/** @param offset the camera's clock less the box's, in seconds; null where it is not known. */
export function isClockOff(offset: number | null): offset is number {
  return offset !== null && Math.abs(offset) > THRESHOLDS.clock_s;
}

function clockProblems(sources: readonly SourceReport[]): LastingProblem[] {
  const known = sources.filter(({ clock_offset_s }) => clock_offset_s !== null);
  const off = known.filter(({ clock_offset_s }) => isClockOff(clock_offset_s));
  const offsets = off.map(({ clock_offset_s }) => clock_offset_s!);
  const areAlike =
    off.length === known.length && Math.max(...offsets) - Math.min(...offsets) <= THRESHOLDS.clock_s;
  const alike =
    known.length === 1
      ? ' It is the only source there is to compare with, so it may be the clock of the box.'
      : ' All sources are off alike: it may be the clock of the box.';
  return off.map((source, i) => problem('clock_off', source, offsets[i]!, areAlike ? alike : ''));
}

/** One for a source whose court plays on without it, and one for an address of which nothing comes. */
function silentProblems(silent: readonly SourceReport[]): LastingProblem[] {
  const alone = silent.filter(({ missing_s }) => missing_s === null);
  const missing = Map.groupBy(
    silent.filter(({ missing_s }) => missing_s !== null),
    ({ client }) => client ?? '',
  );
  return [
    ...alone.map(({ source, court_id, client, quiet_s }) =>
      problem('source_silent', `${source} on ${court_id}`, client, quiet_s ?? 0, false),
    ),
    ...[...missing].map(([client, [first, ...more]]) => {
      const { source, court_id, missing_s } = first!;
      const others = more.length === 0 ? '' : ` and ${more.length} more`;
      const from = `${source} on ${court_id}${others} (${client})`;
      return problem('source_silent', from, client, missing_s ?? 0, true);
    }),
  ];
}

/** One for each camera and code; where the camera could not be told, for its address, with the sources that are known there. */
function refusalProblems(
  refusals: readonly RefusalReport[],
  sources: readonly SourceReport[],
): LastingProblem[] {
  const found: LastingProblem[] = [];
  for (const { code, client, source, court_id, requests, ago_s, is_over, error } of refusals) {
    const from = source === null ? nameOf(client, sources) : `${source} on ${court_id ?? '?'}`;
    const times = `refused ${requests === 1 ? 'once' : `${requests} times`}, last ${span(ago_s)} ago`;
    if (code === 'unauthorized') {
      if (!is_over && requests >= THRESHOLDS.unauthorized) found.push(problem('token_refused', from, times));
      continue;
    }
    const advice = REFUSALS[code];
    const isFew = code === 'rate_limited' && requests < THRESHOLDS.rate_limited;
    if (advice === undefined || isFew || ago_s > THRESHOLDS.refused_s) continue;
    found.push(problem('refused', from, times, error, advice, code === 'internal_error'));
  }
  return found;
}

/** An address, with a name for each court that it sends from. */
function nameOf(client: string, sources: readonly SourceReport[]): string {
  const names = [...new Set(sources.filter((one) => one.client === client).map(({ source }) => source))];
  const some = names.slice(0, 2).join(', ');
  return names.length === 0 ? client : `${client} (${some}${names.length > 2 ? ', ...' : ''})`;
}

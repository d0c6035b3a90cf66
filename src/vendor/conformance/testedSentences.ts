import { shortName } from '../../base/html.ts';
import { counted, span } from '../../base/units.ts';
import { courtdVersion } from '../../base/version.ts';
import { visible } from '../../base/visibleText.ts';
import type { Recording } from './exchange.ts';

/** Names of sources that a sentence lists. */
const SHOWN_SOURCES = 6;

/**
 * @param camera vendor, model and firmware, as who tests it has named them.
 * @param endedMs when the run ended, in milliseconds since 1970.
 * @returns who was tested, by which courtd, when and for how long, and with what; then what is told, and needed for nothing.
 */
export function testedSentences(
  { endedAt, exchanges }: Recording,
  camera: string | undefined,
  endedMs: number,
): string[] {
  const events = exchanges.flatMap(({ events }) => events);
  const sources = [...new Set(events.map(({ source }) => source))].map(shortName);
  const more = sources.length > SHOWN_SOURCES ? ` and ${sources.length - SHOWN_SOURCES} more` : '';
  const from = sources.length === 0 ? '' : ` from ${sources.slice(0, SHOWN_SOURCES).join(', ')}${more}`;
  const lasted = span(Math.round((endedAt - (exchanges[0]?.at ?? endedAt)) / 1000));
  const sent = `${counted(new Set(events.map(({ key }) => key)).size, 'event')} in ${counted(exchanges.length, 'request')}`;
  // Only an empty array is stored without an event.
  const empty = exchanges.filter(({ status, events }) => status === 202 && events.length === 0).length;
  const refused = Map.groupBy(
    exchanges.filter(({ refusal }) => refusal !== undefined),
    ({ status }) => status,
  );
  return [
    `Tested: ${camera ?? 'a camera that was not named (--camera)'}.`,
    `By courtd ${courtdVersion()}, for ${lasted} until ${new Date(endedMs).toISOString().slice(0, 19)}Z, with ${sent}${from}.`,
    exchanges.length === 0
      ? 'No request came: look at the address that the camera was given, and that it speaks plain HTTP to it.'
      : empty === 0
        ? 'Note: no sign of life (an empty array) came. A check needs none; a venue is told sooner of a silent camera that sends one a minute.'
        : `Note: ${counted(empty, 'sign')} of life (empty arrays) came.`,
    ...[...refused].map(
      ([status, all]) =>
        `Refused, and not on purpose: ${counted(all.length, 'request')}, with ${status}. ${visible(all[0]!.refusal!)}`,
    ),
  ];
}

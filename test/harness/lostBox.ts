import fc from 'fast-check';
import type { SessionLine } from '../../src/store/read/sessions.ts';
import { jsonObject } from './arbitraryJson.ts';
import { courtd } from './daemon.ts';
import { anyEot, oracleNs } from './eotOracle.ts';
import { eventText } from './events.ts';

/** For boxes that are rebuilt: what they hold, and everything that they say of it. */

const SESSIONS = ['s-1', 'match "2"', 'сессия/3 \u{1F3BE}'];
const TYPES = ['BALL_HIT', 'BALL_SPEED', 'PLAYER_POSITION', 'PLAYER_IDENTITY'];
const QUERIES = [
  ...SESSIONS.flatMap((session) => [
    ['export', session, '--with-received', '--format', 'ndjson'],
    ['export', session, '--with-received'],
    ['export', session, '--current', '--format', 'ndjson'],
    ['report', session],
    ['export', session, '--format', 'parquet'],
    ['session', 'show', session, '--json'],
  ]),
];

const anyEvent = fc
  .record({
    session: fc.constantFrom(...SESSIONS),
    type: fc.constantFrom(...TYPES),
    court: fc.constantFrom('court-1', 'Ünit "2"'),
    eot: fc.oneof(
      anyEot.filter((text) => oracleNs(text) !== undefined),
      fc.constantFrom('1678-01-01T00:00Z', '2261-12-31T23:59:59.999999999Z', '20261231T235960z'),
    ),
    payload: jsonObject,
    odd: fc.constantFrom(
      '',
      '"kmh":"fast"',
      '"player_id":7',
      '"x_ft":null',
      '"shot_type":[1]',
      '"player_id":"p-1","x_ft":1.50',
    ),
    unknown: fc.option(jsonObject),
    confidence: fc.constantFrom('0', '-0', '1', '1e-7', '0.10', '0.30000000000000004', '5e-324'),
    revision: fc.constantFrom(null, 0, 1, 2 ** 53 - 1),
    version: fc.constantFrom('1', '1.0', '1.20.3'),
  })
  .map(({ session, type, court, eot, payload, odd, unknown, confidence, revision, version }) =>
    eventText(
      {
        // The odd fields last: of duplicate members the last wins.
        payload: odd === '' ? payload.text : `{"any":${payload.text},${odd}}`,
        confidence,
        revision: `${revision}`,
        ...(unknown !== null && { 'unk\\nown': unknown.text }),
      },
      { session_id: session, type, court_id: court, eot, schema_version: version },
    ),
  );

/** @returns so many valid events as JSON text, of all kinds; the same ones for a seed. */
export function anyEvents(count: number, seed: number): string[] {
  return fc.sample(anyEvent, { numRuns: count, seed });
}

/** @returns everything that a box says of these events. */
export async function answersOf(data: string): Promise<string[]> {
  const { stdout } = await courtd(['session', 'list', '--json', '--data', data]);
  // Which session's first event came first is not known of those that a prune has deleted.
  const sessions = JSON.parse(stdout).sort((a: SessionLine, b: SessionLine) =>
    a.session_id < b.session_id ? -1 : 1,
  );
  const answers = await Promise.all(QUERIES.map((query) => courtd([...query, '--data', data])));
  // When an export was made is in it.
  return [
    JSON.stringify(sessions),
    ...answers.map(({ status, stdout }) => `${status} ${stdout.replace(/"made_at":"[^"]*"/, '')}`),
  ];
}

import fs from 'node:fs';
import fc from 'fast-check';
import type { Test } from 'tap';
import { DataDirectory } from '../../src/base/dataDirectory.ts';
import { arrivalToJson } from '../../src/protocol/event.ts';
import { ArrivalLog } from '../../src/store/arrivalLog.ts';
import { checkConsistency } from '../../src/store/inspection/consistency.ts';
import { withDatabase } from '../../src/store/open/withDatabase.ts';
import type { SessionLine } from '../../src/store/read/sessions.ts';
import { jsonObject } from './arbitraryJson.ts';
import { type CommandResult, courtd } from './daemon.ts';
import { anyEot, oracleNs } from './eotOracle.ts';
import { event, eventText } from './events.ts';
import { commandInProcess } from './inProcess.ts';

/** For boxes that are rebuilt: what they hold, and everything that they say of it. */

const SESSIONS = ['s-1', 'match "2"', 'сессия/3 \u{1F3BE}'];
const TYPES = ['BALL_HIT', 'BALL_SPEED', 'PLAYER_POSITION', 'PLAYER_IDENTITY'];
const QUERIES = [
  ...SESSIONS.flatMap((session) => [
    ['export', session, '--format', 'ndjson'],
    ['export', session],
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

/** `courtd rebuild -`. */
export const rebuildFrom = (input: string | Buffer, data: string) =>
  commandInProcess(['rebuild', '-', '--data', data], {}, input);

/** A line of `tail --json`. */
export function line(seq: number, overrides: Record<string, unknown> = {}): string {
  const received_at = new Date(Date.UTC(2026, 10, 1) + seq).toISOString();
  return `${JSON.stringify({ seq, received_at, event: event({ event_id: `e-${seq}`, ...overrides }) })}\n`;
}
export const lines = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, i) => line(from + i));
export const ofEpoch = (epoch: string, some: readonly string[], box = 'venue-7') =>
  some.map((one) => one.replace('{', `{"box":"${box}","epoch":"${epoch}",`)).join('');

/** @returns the lines of `tail --json --after 0`. */
export function logOf(data: string): string[] {
  const log = new ArrivalLog(new DataDirectory(data));
  const { events, damage } = log.after(0, 10_000);
  log.close();
  if (damage.isFound) throw new Error(`${damage}`);
  return events.map(arrivalToJson);
}
export const seqsOf = (data: string) => logOf(data).map((one) => JSON.parse(one).seq);

/** Whether every key and counter of a box is right. */
export async function isSound(data: string): Promise<boolean> {
  const { events, keys, ...faults } = await withDatabase({ data: new DataDirectory(data) }, (db) =>
    checkConsistency(db, () => {}),
  );
  return events === keys && Object.values(faults).every((count) => count === 0);
}

/** Nothing was made, and this is why. */
export async function isRefused(
  t: Test,
  result: Promise<CommandResult>,
  data: string,
  why: RegExp,
): Promise<void> {
  const { status, stdout, stderr } = await result;
  t.strictSame([status, stdout], [1, ''], stderr);
  t.match(stderr, why);
  t.match(stderr, /^courtd: [^\n]+\n$/, 'one sentence');
  t.strictSame(fs.existsSync(data) ? fs.readdirSync(data) : [], []);
}

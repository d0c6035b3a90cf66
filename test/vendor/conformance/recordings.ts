import type {
  ConnectionRecord,
  Exchange,
  Recording,
  SentEvent,
} from '../../../src/vendor/conformance/exchange.ts';
import { type Check, judge } from '../../../src/vendor/conformance/judge.ts';

/** Recordings as a test writes them down: what was sent at which second, and what was answered. */

const EPOCH_MS = Date.UTC(2026, 2, 14, 15, 0, 0);

export interface Told {
  /** Names of events; `a` and `b+1` are event a, and revision 1 of b. */
  readonly events?: readonly string[];
  /** Content of the events, where it is not what their name says. */
  readonly content?: string;
  readonly status?: number;
  readonly connection?: number;
  readonly source?: string;
  /** How far the camera's clock is ahead, in seconds. */
  readonly aheadS?: number;
  readonly odd?: readonly string[];
  readonly more?: Partial<Exchange>;
}

/** @param told by second. A connection is 1 unless it is said, and still open; `ends` says who ended which. */
export function recording(
  told: readonly (readonly [atS: number, what: Told])[],
  ends: Readonly<Record<number, 'camera' | 'box'>> = {},
): Recording {
  const exchanges = told.map(([atS, what], i): Exchange => {
    const { events = [], status = 202, connection = 1 } = what;
    return {
      number: i + 1,
      connection,
      at: atS * 1000,
      wallMs: EPOCH_MS + atS * 1000,
      bodyMs: EPOCH_MS + atS * 1000,
      isTokenInUrl: false,
      digest: `${events}${what.content ?? ''}`,
      isPipelined: false,
      faults: [],
      named: [],
      ...(status > 0 && { status }),
      answeredAt: atS * 1000 + 10,
      ...what.more,
      events: events.map((name) => sentEvent(name, what, EPOCH_MS + atS * 1000)),
    };
  });
  const numbers = [...new Set(exchanges.map(({ connection }) => connection))];
  const connections = numbers.map((number): ConnectionRecord => {
    const requests = exchanges.filter(({ connection }) => connection === number).length;
    return { number, requests, ...(ends[number] && { endedBy: ends[number] }) };
  });
  return { endedAt: (told.at(-1)?.[0] ?? 0) * 1000, exchanges, connections };
}

function sentEvent(
  name: string,
  { content = '', source = 'cam', aheadS = 0, odd = [] }: Told,
  atMs: number,
): SentEvent {
  const [id = '', revision = '0'] = name.split('+');
  // `a=b` is event a that says what event b says.
  const [own, says = own] = id.split('=');
  return {
    key: `${own}+${revision}`,
    id: own!,
    eventId: own!,
    revision: Number(revision),
    source,
    eotMs: atMs - 200 + aheadS * 1000,
    content: `${own}+${revision} ${says} ${content}`,
    core: `${says}+${revision} ${content}`,
    odd,
  };
}

export type Line = readonly [atS: number, what: Told];

export const busy = { fault: 'busy' } as const;
export const restart = { fault: 'restart', toldS: 4 } as const;
export const said = (name: Check['name'], told: readonly Line[], ends = {}) => {
  const { checks } = judge(recording(told, ends), true);
  const { verdict, message, requests } = checks.find((check) => check.name === name)!;
  return { verdict, message, requests: requests.map(({ number }) => number) };
};

/** Goes on for half a minute, so that what was not sent again by then never was. */
export const later = (fromS = 10, connection = 1): Line[] =>
  Array.from({ length: 30 }, (_, i) => [fromS + i, { events: [`later ${i}`, `more ${i}`], connection }]);
export const failing = (told: readonly Line[], ends = {}) =>
  judge(recording(told, ends), true).checks.flatMap(({ name, verdict }) =>
    verdict === 'fail' ? [name] : [],
  );

/** A connection for each request. */
export const NEW_CONNECTIONS: readonly Line[] = Array.from({ length: 12 }, (_, i) => [
  i,
  { events: [`a${i}`], connection: i + 2 },
]);

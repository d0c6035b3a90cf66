import type { Exchange, Recording, SentEvent } from '../../../src/vendor/conformance/exchange.ts';

/** Recordings as a test writes them down: what was sent at which second, and what was answered. */

const EPOCH_MS = Date.UTC(2026, 2, 14, 15, 0, 0);

/** A request at that second. Events are named `a`; `b+1` is revision 1 of b, and `a=x` says what event x says. */
export type Line = readonly [
  atS: number,
  events: string,
  answer?: Partial<Exchange>,
  sent?: {
    readonly content?: string;
    readonly source?: string;
    readonly aheadS?: number;
    readonly odd?: string[];
  },
];

export function recording(lines: readonly Line[]): Recording {
  const exchanges = lines.map(([atS, names, answer = {}, sent = {}], i): Exchange => {
    const bodyMs = EPOCH_MS + atS * 1000;
    const events = names.split(' ').flatMap((name) => (name === '' ? [] : sentEvent(name, sent, bodyMs)));
    const times = { at: atS * 1000, bodyMs, answeredAt: atS * 1000 + 10 };
    const { status = 202, ...others } = answer;
    const told = status === 0 ? {} : { status };
    return {
      number: i + 1,
      ...times,
      digest: `${names} ${sent.content}`,
      faults: [],
      named: [],
      ...told,
      ...others,
      events,
    };
  });
  return { exchanges, endedAt: (lines.at(-1)?.[0] ?? 0) * 1000 };
}

function sentEvent(
  name: string,
  { content, source = 'cam', aheadS = 0, odd = [] }: NonNullable<Line[3]>,
  atMs: number,
): SentEvent {
  const [id = '', revision = '0'] = name.split('+');
  const [own = '', says = own] = id.split('=');
  return {
    key: `${own}+${revision}`,
    id: own,
    revision: Number(revision),
    source,
    eotMs: atMs - 200 + aheadS * 1000,
    content: `${own}+${revision} ${says} ${content}`,
    core: `${says}+${revision} ${content}`,
    odd,
  };
}

/** Sends others for half a minute, so that what has not come again by then never will. */
export function later(fromS = 10): Line[] {
  return Array.from({ length: 30 }, (_, i) => [fromS + i, `later${i} more${i}`]);
}

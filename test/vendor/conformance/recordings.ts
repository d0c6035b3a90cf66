import type { Exchange, Recording, SentEvent } from '../../../src/vendor/conformance/exchange.ts';

/**
 * Recordings as a test writes them down: requests separated by `;`, each with its second, its events, and behind `|` its answer.
 * `b+1` is revision 1 of event b, and `a=x` has the content of event x.
 */

const EPOCH_MS = Date.UTC(2026, 2, 14, 15, 0, 0);
const ANSWERS: Readonly<Record<string, Partial<Exchange>>> = {
  busy: { status: 503, fault: 'busy' },
  unnamed: { status: 400, fault: 'unnamed' },
  large: { status: 413, fault: 'too_large' },
  lost: { status: 0, fault: 'dropped' },
};

/** What a request has behind `|`, besides an answer: `told:429:3`, `named:b`, `fault:eot`, `source:x`, `ahead:-3`, `content:x`, `odd:kmh`. */
type Marks = Readonly<Record<string, string>>;

/** @param more requests before or behind those of the text. */
export function recording(text: string, ...more: readonly string[]): Recording {
  const lines = [text, ...more].flatMap((one) => one.split(';')).filter((line) => line.trim() !== '');
  const exchanges = lines.map(exchangeOf).sort((a, b) => a.at - b.at);
  return { exchanges, endedAt: exchanges.at(-1)?.at ?? 0 };
}

function exchangeOf(line: string): Exchange {
  const [sent = '', answer = ''] = line.split('|').map((part) => part.trim());
  const [second, ...names] = sent.split(/\s+/);
  const marks: Marks = Object.fromEntries(
    answer.split(/\s+/).map((word) => [word.split(':')[0], word.slice(word.indexOf(':') + 1)]),
  );
  const at = Number(second) * 1000;
  const bodyMs = EPOCH_MS + at;
  const [told, toldS] = marks.told?.split(':') ?? [];
  const { status = 202, ...own }: Partial<Exchange> = {
    ...ANSWERS[answer],
    ...(marks.told && { status: Number(told), toldS: Number(toldS) }),
    ...(marks.named && { status: 400, fault: 'invalid', named: [`${marks.named}+0`] }),
    ...(marks.fault && {
      status: 400,
      faults: marks.fault === 'body' ? [] : [{ path: marks.fault, message: '' }],
    }),
  };
  return {
    ...{ at, bodyMs, answeredAt: at + 10, digest: `body ${names.join(' ')}`, faults: [], named: [] },
    ...(status !== 0 && { status }),
    ...own,
    events: names.map((name) => sentEvent(name, marks, bodyMs)),
  };
}

function sentEvent(name: string, { content, source = 'cam', ahead, odd }: Marks, atMs: number): SentEvent {
  const [id = '', revision = '0'] = name.split('+');
  const [own = '', says = own] = id.split('=');
  return {
    key: `${own}+${revision}`,
    id: own,
    revision: Number(revision),
    source,
    eotMs: atMs - 200 + Number(ahead ?? 0) * 1000,
    content: `${says}+${revision} ${content}`,
    odd: odd === undefined ? [] : [odd],
  };
}

/** Many requests. */
export function many(count: number, line: (i: number) => string): string {
  return Array.from({ length: count }, (_, i) => line(i)).join(';');
}

/** Sends others for half a minute, so that what has not come again by then never will. */
export const later = (fromS = 10) => many(30, (i) => `${fromS + i} later${i} more${i}`);

import fc from 'fast-check';
import { BATCH_EVENTS } from '../../src/base/limits.ts';
import { type FuzzBody, fuzzBody, PLAIN_BODY, renderBody } from './body.ts';
import { type FuzzHead, fuzzHead, manner, PLAIN_HEAD, renderRequest } from './head.ts';
import type { Rendered } from './packing.ts';
import type { Script } from './play.ts';

/** One connection with one or several requests. All of it is data, to be shrunk. */

export interface FuzzCase {
  readonly requests: readonly FuzzRequest[];
  /** Plain requests with one event each, which come behind those all at once. */
  readonly behind: number;
  readonly cuts: readonly number[];
  readonly ending: Script['ending'];
  readonly isReadLate: boolean;
}

export interface FuzzRequest {
  readonly head: FuzzHead;
  readonly body: FuzzBody;
  /** It is sent when those before it have been answered. */
  readonly waits: boolean;
  /** Its body is a whole request itself. */
  readonly isCarrier: boolean;
}

const part = fc.double({ min: 0, max: 1, noNaN: true });
const rarely = (weight: number) =>
  fc.oneof({ weight, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) });
const request: fc.Arbitrary<FuzzRequest> = fc.record({
  head: fuzzHead,
  body: fuzzBody,
  waits: rarely(1),
  isCarrier: rarely(15),
});
/** Nothing is wrong with it: what becomes of it is up to those around it. */
const orderly: fc.Arbitrary<FuzzRequest> = fc.record({
  head: manner.map((manner) => ({ ...PLAIN_HEAD, manner })),
  body: fc.constant(PLAIN_BODY),
  waits: rarely(1),
  isCarrier: rarely(15),
});
export const fuzzCase: fc.Arbitrary<FuzzCase> = fc.record({
  requests: fc.oneof(
    { weight: 3, arbitrary: fc.array(request, { minLength: 1, maxLength: 4 }) },
    { weight: 1, arbitrary: fc.array(orderly, { minLength: 2, maxLength: 6 }) },
  ),
  behind: fc.oneof(
    { weight: 15, arbitrary: fc.constant(0) },
    { weight: 1, arbitrary: fc.constantFrom(1, 70, BATCH_EVENTS) },
  ),
  cuts: fc.array(part, { maxLength: 4 }),
  ending: fc.oneof(
    { weight: 4, arbitrary: fc.constant<Script['ending']>('end') },
    { weight: 1, arbitrary: fc.record({ how: fc.constantFrom('end', 'reset', 'destroy'), at: part }) },
  ),
  isReadLate: rarely(10),
});

export const PLAIN: FuzzRequest = { head: PLAIN_HEAD, body: PLAIN_BODY, waits: false, isCarrier: false };

/** @returns a request to stand in the body of another, where it is none. */
export function carried(token: string, unique: string): { bytes: Buffer; body: Buffer } {
  const { sent: body } = renderBody(PLAIN_BODY, `carried-${unique}`);
  return { bytes: renderRequest(PLAIN_HEAD, token, false, body), body };
}

/** @returns one request, as it is sent, and what its body is. */
export function rendered(
  { head, body, isCarrier }: FuzzRequest,
  token: string,
  unique: string,
): { readonly bytes: Buffer; readonly content: Rendered } {
  const sent = isCarrier ? carried(token, unique).bytes : undefined;
  const content = sent === undefined ? renderBody(body, unique) : { sent, decoded: sent };
  const isPacked = !isCarrier && body.packing !== 'none';
  return { content, bytes: renderRequest(head, token, isPacked, content.sent) };
}

/** @returns the case, for one who does not look at what becomes of it. */
export function scriptOf(fuzzed: FuzzCase, token: string, unique: string): Script {
  const requests = [...fuzzed.requests, ...Array.from({ length: fuzzed.behind }, () => PLAIN)];
  const parts = requests.map((one, i) => ({
    waits: one.waits,
    bytes: rendered(one, token, `${unique}-${i}`).bytes,
  }));
  return { ...fuzzed, parts };
}

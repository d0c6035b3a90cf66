import { hash } from 'node:crypto';
import { eotToNs } from '../../protocol/eot.ts';
import { JsonReader } from '../../protocol/jsonReader.ts';
import { describeOdd, readPayload } from '../../protocol/payload.ts';
import type { SentEvent } from './exchange.ts';

const DIGEST_CHARS = 16;

export function digestOf(data: string | Buffer): string {
  return hash('sha1', data, 'base64url').slice(0, DIGEST_CHARS);
}

/**
 * @param body JSON text of an event or an array of events, which has been read by decodeBatch.
 * @param isInvalid whether the event at this position is invalid: it is left out.
 * @returns its events. Their content is compared as JSON values: the spelling of a number does not count.
 */
export function sentEvents(body: Buffer, isInvalid: (index: number) => boolean = () => false): SentEvent[] {
  const value: unknown = JSON.parse(body.toString());
  const all = Array.isArray(value) ? value : [value];
  return all.flatMap((event, i) => (isInvalid(i) ? [] : sentEvent(event)));
}

/** A valid event has all fields; an invalid one beyond the fifty that are listed may not. */
function sentEvent(event: Record<string, unknown>): SentEvent[] {
  const { event_id, session_id, source, eot } = event ?? {};
  const revision = event?.revision ?? 0;
  const ns = typeof eot === 'string' ? eotToNs(eot) : undefined;
  const names = [event_id, session_id, source].every((name) => typeof name === 'string');
  if (ns === undefined || !names || typeof revision !== 'number') return [];
  const id = JSON.stringify([session_id, event_id]);
  return [
    {
      key: digestOf(`${id}${revision}`),
      id: digestOf(id),
      eventId: event_id as string,
      revision,
      source: source as string,
      eotMs: Number(ns / 1_000_000n),
      content: digestOf(canonical(event)),
      core: digestOf(canonical({ ...event, event_id: null })),
      odd: describeOdd(readPayload(new JsonReader(JSON.stringify(event.payload)))) ?? [],
    },
  ];
}

/** @returns JSON text that is the same for the same value: members in order; no revision, and null, is revision 0. */
function canonical(event: Record<string, unknown>): string {
  return JSON.stringify({ ...event, revision: event.revision ?? 0 }, (_name, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
}

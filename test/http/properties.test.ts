import fc from 'fast-check';
import t from 'tap';
import { canonical, jsonObject } from '../harness/arbitraryJson.ts';
import { Daemon } from '../harness/daemon.ts';
import { eotText, oracleNs } from '../harness/eotOracle.ts';
import { event, eventText } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';

runInProcess();

/** What must hold whatever is sent, in whatever pieces and order. */

const daemon = await Daemon.start(t, ['--rate-limit', '0']);
let sessions = 0;
const newSession = () => `session-${++sessions}`;

interface Counts {
  readonly accepted: number;
  readonly duplicates: number;
}

async function send(body: unknown): Promise<Counts> {
  const response = await daemon.post(body);
  if (response.status !== 202) throw new Error(`${response.status} ${await response.text()}`);
  return (await response.json()) as Counts;
}

const FAULTS = [
  { confidence: 2 },
  { eot: 'now' },
  { payload: null },
  { event_id: '' },
  { revision: -1 },
  { type: undefined },
];

t.test('a batch with any invalid event is rejected whole, and the answer names each of them', async () => {
  const flags = fc.array(fc.option(fc.constantFrom(...FAULTS)), { minLength: 1, maxLength: 30 });
  const property = fc.asyncProperty(flags, async (faults) => {
    const session_id = newSession();
    const batch = faults.map((fault) => event({ session_id, ...fault }));
    const valid = batch.filter((_, i) => faults[i] === null);
    const isValid = valid.length === batch.length;
    const response = await daemon.post(batch);
    const answer = (await response.json()) as { invalid?: { index: number }[] };
    const named = (answer.invalid ?? []).map(({ index }) => index);
    const bad = [...faults.keys()].filter((i) => faults[i] !== null);
    // Sent again, what was stored is a duplicate and what was not is new.
    const again = await send(valid);
    const stored = isValid ? valid.length : 0;
    return (
      response.status === (isValid ? 202 : 400) &&
      `${named}` === `${bad}` &&
      again.duplicates === stored &&
      again.accepted === valid.length - stored
    );
  });
  await fc.assert(property, { numRuns: 40 });
});

t.test('stored and duplicates are what was sent, with resends in any requests at the same time', async () => {
  const key = fc.record({
    event_id: fc.constantFrom('a', 'b', 'c', 'd'),
    revision: fc.constantFrom(0, 2 ** 32, 2 ** 53 - 1),
  });
  const requests = fc.array(fc.array(key, { maxLength: 12 }), { minLength: 1, maxLength: 24 });
  const property = fc.asyncProperty(requests, async (requests) => {
    const session_id = newSession();
    const answers = await Promise.all(
      requests.map((keys) => send(keys.map((key) => event({ session_id, ...key })))),
    );
    const sent = requests.flat();
    const distinct = new Set(sent.map(({ event_id, revision }) => `${event_id} ${revision}`));
    const accepted = answers.reduce((sum, answer) => sum + answer.accepted, 0);
    const isAllCounted = answers.every(
      ({ accepted, duplicates }, i) => accepted + duplicates === requests[i]?.length,
    );
    const stored = distinct.size === 0 ? [] : await daemon.exported(session_id);
    return isAllCounted && accepted === distinct.size && stored.length === distinct.size;
  });
  await fc.assert(property, { numRuns: 25 });
});

/** Two days at the end of a year, in all forms that an eot has: many are the same instant. */
const eot = eotText(fc.constant(2026), fc.constant(12), fc.constantFrom(30, 31)).filter(
  (text) => oracleNs(text) !== undefined,
);

t.test('the export is in the order of eot, in any form, and of arrival if that is equal', async () => {
  const some = fc.oneof(
    eot,
    fc.constantFrom('2026-12-31T24:00Z', '20261231T235960z', '2027-01-01 00:00:00,0+00'),
  );
  const batches = fc.array(fc.array(some, { maxLength: 40 }), { minLength: 1, maxLength: 4 });
  const property = fc.asyncProperty(batches, async (batches) => {
    const session_id = newSession();
    const sent = batches.map((batch) => batch.map((eot) => event({ session_id, eot })));
    for (const events of sent) await send(events);
    const all = sent.flat();
    if (all.length === 0) return true;
    const found = (await daemon.exported(session_id)).map((line) => JSON.parse(line));
    const wanted = all.toSorted((a, b) => Number(oracleNs(a.eot)! - oracleNs(b.eot)!));
    const shown = (events: typeof all) => `${events.map(({ event_id, eot }) => `${event_id} ${eot}`)}`;
    return shown(found) === shown(wanted);
  });
  await fc.assert(property, { numRuns: 20 });
});

t.test('any JSON in a payload and in an unknown field comes back the same value', async () => {
  const property = fc.asyncProperty(
    fc.array(fc.tuple(jsonObject, jsonObject), { minLength: 1, maxLength: 40 }),
    async (values) => {
      const session_id = newSession();
      const texts = values.map(([payload, unknown], i) =>
        eventText({ payload: payload.text, unknown: unknown.text, event_id: `"${i}"` }, { session_id }),
      );
      const { accepted } = await send(`[${texts.join(',')}]`);
      const found = (await daemon.exported(session_id)).map(canonical);
      return accepted === texts.length && `${found}` === `${texts.map(canonical)}`;
    },
  );
  await fc.assert(property, { numRuns: 25 });
});

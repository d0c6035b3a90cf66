import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { EOT_WINDOW_MS } from '../../src/base/limits.ts';
import { EotWindow, type Occurrence } from '../../src/cli/verbs/eotWindow.ts';
import { eotToNs } from '../../src/protocol/eot.ts';

const START_MS = Date.UTC(2026, 2, 14, 15);
const HOUR_MS = 3_600_000;

interface Sent extends Occurrence {
  readonly id: number;
}

/** The order: an eot after the receipt counts as the receipt. */
const keyOf = ({ eot, receivedMs }: Occurrence) => {
  const [sent, received] = [eotToNs(eot)!, BigInt(receivedMs) * 1_000_000n];
  return sent < received ? sent : received;
};

/** @returns what leaves, `late` and the id for a late one. */
function run(sent: readonly Sent[]): string[] {
  const window = new EotWindow<Sent>();
  const left = [...sent.flatMap((one) => window.take(one)), ...window.due(Number.POSITIVE_INFINITY)];
  return left.map(({ event, isLate }) => `${isLate ? 'late ' : ''}${event.id}`);
}

const usually = <Value>(value: Value, ...others: Value[]) =>
  fc.constantFrom(...Array(9).fill(value), ...others);
const moment = fc.record({
  waitMs: fc.oneof(fc.constant(0), fc.nat(40), fc.nat(700)),
  delayMs: fc.oneof(fc.nat(30), fc.nat(900)),
  cameraMs: usually(0, -HOUR_MS, HOUR_MS, 30, -30),
  ns: fc.constantFrom(0, 0, 1, 999_999),
});
const moments = fc.array(moment, { maxLength: 60, size: 'max' });

function sentOf(list: readonly { waitMs: number; delayMs: number; cameraMs: number; ns: number }[]): Sent[] {
  let receivedMs = START_MS;
  return list.map(({ waitMs, delayMs, cameraMs, ns }, id) => {
    receivedMs += waitMs;
    const at = new Date(receivedMs - delayMs + cameraMs).toISOString();
    return { id, receivedMs, eot: at.replace('Z', `${String(ns).padStart(6, '0')}Z`) };
  });
}

t.test(
  'no event is lost or comes twice; those that are not late are in order, and the others are late',
  async () => {
    fc.assert(
      fc.property(moments, (list) => {
        const sent = sentOf(list);
        const lines = run(sent);
        const ids = lines.map((line) => Number(line.replace('late ', '')));
        assert.deepEqual(
          ids.toSorted((a, b) => a - b),
          sent.map(({ id }) => id),
        );
        let left = -(2n ** 63n);
        for (const [i, line] of lines.entries()) {
          const key = keyOf(sent[ids[i]!]!);
          assert.equal(key < left, line.startsWith('late '), line);
          if (key > left) left = key;
        }
      }),
      { numRuns: 200 },
    );
  },
);

t.test(
  'an event that arrives within the window after its eot is not late, though a camera is ahead',
  async () => {
    fc.assert(
      fc.property(moments, (list) => {
        const calm = list.map((one) => ({
          ...one,
          delayMs: Math.min(one.delayMs, EOT_WINDOW_MS - 1),
          cameraMs: Math.max(one.cameraMs, 0),
        }));
        assert.deepEqual(
          run(sentOf(calm)).filter((line) => line.startsWith('late')),
          [],
        );
      }),
      { numRuns: 100 },
    );
  },
);

t.test('an event leaves when the window has passed since it was received, and not before', async (t) => {
  const window = new EotWindow<Sent>();
  const [one] = sentOf([{ waitMs: 0, delayMs: 10, cameraMs: 0, ns: 0 }]);
  t.strictSame(window.take(one!), []);
  t.strictSame(window.due(one!.receivedMs + EOT_WINDOW_MS - 1), []);
  t.strictSame(window.due(one!.receivedMs + EOT_WINDOW_MS), [{ event: one, isLate: false }]);
  t.strictSame(window.due(Number.POSITIVE_INFINITY), []);
});

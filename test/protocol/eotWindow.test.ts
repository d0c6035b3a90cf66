import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { eotToNs } from '../../src/protocol/eot.ts';
import {
  EOT_HELD_EVENT_BYTES,
  EotWindow,
  type HeldRoom,
  type Occurrence,
} from '../../src/protocol/eotWindow.ts';
import { numRuns } from '../harness/numRuns.ts';

/** By the clock of the reader, which nobody sets: an event is read, or time passes. */
interface Step extends Occurrence {
  readonly nowMs: number;
  /** Absent: nothing has come. */
  readonly id?: string;
}

const START_MS = Date.UTC(2026, 2, 14, 15);
const HOUR_MS = 3_600_000;
const WINDOWS = [0, 1, 50, 500, 60_000];

const roomFor = (events: number): HeldRoom => ({ free: events * 1_000, exceeded: () => {} });
/** With what the class adds for the event itself, a thousand. */
const BYTES = 1_000 - EOT_HELD_EVENT_BYTES;

function windowOf(windowMs: number, room = roomFor(1_000_000)): EotWindow<string> {
  return new EotWindow(windowMs, (id, isLate) => (isLate ? `late ${id}` : id), room);
}

function run(steps: readonly Step[], windowMs: number): string[] {
  const window = windowOf(windowMs);
  const lines = steps.flatMap(({ id, nowMs, ...occurrence }) =>
    id === undefined ? window.due(nowMs) : window.take(id, occurrence, nowMs),
  );
  return [...lines, ...window.rest()];
}

const keyOf = ({ eot, receivedMs }: Occurrence) => {
  const [sent, received] = [eotToNs(eot)!, BigInt(receivedMs) * 1_000_000n];
  return sent < received ? sent : received;
};

/** The two rules, as they are written: everything is looked at each time. */
function model(steps: readonly Step[], windowMs: number): string[] {
  const lines: string[] = [];
  let held: Step[] = [];
  let left: bigint | undefined;
  let offset = 0;
  const leave = (leaving: readonly Step[]) => {
    const sorted = leaving.toSorted((a, b) => Number(keyOf(a) - keyOf(b)));
    lines.push(...sorted.map(({ id }) => id!));
    if (sorted.length > 0) left = keyOf(sorted.at(-1)!);
    held = held.filter((event) => !leaving.includes(event));
  };
  const pass = (boxMs: number) => {
    const inside = held.findIndex(({ receivedMs }) => Math.abs(boxMs - receivedMs) <= windowMs);
    const due = inside < 0 ? held : held.slice(0, inside);
    const last = due.reduce<Step | undefined>((a, b) => (a && keyOf(a) > keyOf(b) ? a : b), undefined);
    if (last === undefined) return;
    leave(
      held.filter(
        (event) => keyOf(event) < keyOf(last) || (keyOf(event) === keyOf(last) && !isAfter(event, last)),
      ),
    );
  };
  const isAfter = (a: Step, b: Step) => held.indexOf(a) > held.indexOf(b);
  for (const step of steps) {
    if (step.id === undefined) {
      pass(step.nowMs + offset);
      continue;
    }
    pass(step.receivedMs);
    offset = step.receivedMs - step.nowMs;
    if (left !== undefined && keyOf(step) < left) lines.push(`late ${step.id}`);
    else held.push(step);
  }
  leave(held);
  return lines;
}

interface Moment {
  readonly waitMs: number;
  /** How long the event was on its way; absent: none comes. */
  readonly delayMs: number | undefined;
  readonly cameraMs: number;
  /** By how much somebody sets the clock of the box. */
  readonly boxMs: number;
  /** The reader sees it later: it was stopped, or the daemon was. */
  readonly unseenMs: number;
  readonly isCorrection: boolean;
  readonly ns: number;
}

/** @returns what a reader meets. A correction has the eot of the event before it. */
function stepsOf(moments: readonly Moment[]): Step[] {
  let [boxMs, readMs, eot] = [START_MS, 0, ''];
  let trueMs = 0;
  return moments.map((moment, i) => {
    trueMs += moment.waitMs;
    boxMs += moment.boxMs;
    readMs = Math.max(readMs, trueMs + moment.unseenMs);
    const receivedMs = boxMs + trueMs;
    const atMs = receivedMs - (moment.delayMs ?? 0) + moment.cameraMs;
    if (!moment.isCorrection || eot === '') {
      eot = new Date(atMs).toISOString().replace('Z', `${String(moment.ns).padStart(6, '0')}Z`);
    }
    const id = moment.delayMs === undefined ? {} : { id: `e${i}` };
    return { nowMs: readMs, eot, receivedMs, bytes: BYTES, ...id };
  });
}

const usually = <Value>(value: Value, ...others: Value[]) =>
  fc.constantFrom(...Array(9).fill(value), ...others);
const moment = fc.record({
  waitMs: fc.oneof(fc.constant(0), fc.nat(40), fc.nat(700)),
  delayMs: fc.option(fc.oneof(fc.nat(30), fc.nat(900)), { nil: undefined, freq: 4 }),
  cameraMs: usually(0, -HOUR_MS, HOUR_MS, 30, -30),
  boxMs: usually(0, 0, 0, -HOUR_MS, HOUR_MS, -3, 3),
  unseenMs: usually(0, 0, 5, 2_000),
  isCorrection: fc.boolean(),
  ns: fc.constantFrom(0, 0, 1, 999_999),
});
const moments = fc.array(moment, { maxLength: 60, size: 'max' });
const windowMs = fc.constantFrom(...WINDOWS);

t.test('events leave as the two rules say, whatever clocks do, and whenever they are read', async () => {
  fc.assert(
    fc.property(moments, windowMs, (moments, windowMs) => {
      const steps = stepsOf(moments);
      assert.deepEqual(run(steps, windowMs), model(steps, windowMs));
    }),
    numRuns(2_000),
  );
});

t.test('none is lost and none comes twice; those that are not late are in order', async () => {
  fc.assert(
    fc.property(moments, windowMs, (moments, windowMs) => {
      const steps = stepsOf(moments).filter(({ id }) => id !== undefined);
      const lines = run(stepsOf(moments), windowMs);
      const ids = lines.map((line) => line.replace('late ', ''));
      assert.deepEqual(ids.toSorted(), steps.map(({ id }) => id!).toSorted());
      const keys = new Map(steps.map((step) => [step.id!, keyOf(step)]));
      let left = -(2n ** 63n);
      for (const line of lines) {
        const key = keys.get(line.replace('late ', ''))!;
        assert.equal(key < left, line.startsWith('late '), line);
        if (key > left) left = key;
      }
    }),
    numRuns(1_000),
  );
});

t.test('within the window none is late, though a camera is an hour ahead', async () => {
  fc.assert(
    fc.property(moments, (moments) => {
      const calm = moments.map((each) => ({
        ...each,
        delayMs: each.delayMs && Math.min(each.delayMs, 500),
        cameraMs: Math.max(each.cameraMs, 0),
        boxMs: 0,
        unseenMs: 0,
        isCorrection: false,
      }));
      const late = run(stepsOf(calm), 500).filter((line) => line.startsWith('late'));
      assert.deepEqual(late, []);
    }),
    numRuns(500),
  );
});

t.test('what is stored is replayed as whoever was there has seen it', async () => {
  fc.assert(
    fc.property(moments, windowMs, (moments, windowMs) => {
      const live = stepsOf(moments.map((each) => ({ ...each, boxMs: 0, unseenMs: 0 })));
      const stored = live.filter(({ id }) => id !== undefined).map((step) => ({ ...step, nowMs: HOUR_MS }));
      assert.deepEqual(run(stored, windowMs), run(live, windowMs));
    }),
    numRuns(500),
  );
});

t.test('without an end of the window all of it is sorted', async (t) => {
  const at = (id: string, ms: number, receivedMs: number) => ({
    id,
    eot: new Date(START_MS + ms).toISOString(),
    receivedMs: START_MS + receivedMs,
    bytes: 0,
    nowMs: 0,
  });
  const steps = [at('c', 30, 40), at('a', 10, HOUR_MS), at('b', 20, 30), at('d', 30, 2 * HOUR_MS)];
  t.strictSame(run(steps, Number.POSITIVE_INFINITY), ['a', 'b', 'c', 'd']);
});

t.test('where memory ends, the earliest leaves before its window does, and says so', async (t) => {
  let told = 0;
  const room: HeldRoom = { ...roomFor(3), exceeded: () => told++ };
  const [window, other] = [windowOf(60_000, room), windowOf(60_000, room)];
  const take = (id: string, ms: number, into = window) =>
    into.take(
      id,
      { eot: new Date(START_MS + ms).toISOString(), receivedMs: START_MS + 100, bytes: BYTES },
      0,
    );
  t.strictSame([...take('d', 4), ...take('b', 2), ...take('c', 3)], []);
  t.equal(told, 0);
  t.strictSame(take('a', 1), ['a']);
  t.strictSame(take('late', 0), ['late late']);
  t.strictSame(take('x', 9, other), ['x'], 'windows share it');
  t.equal(told, 2);
  t.strictSame([...window.rest()], ['b', 'c', 'd']);
  t.strictSame(take('e', 5), [], 'there is room again');
});

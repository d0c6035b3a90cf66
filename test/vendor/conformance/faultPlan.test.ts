import t from 'tap';
import { type Choice, FaultPlan, INJECTED_FAULTS } from '../../../src/vendor/conformance/faultPlan.ts';
import { sentEvents } from '../../../src/vendor/conformance/sentEvents.ts';
import { event } from '../../harness/events.ts';

const FIRST = 50;

/** @returns the faults of the first fifty requests. @param camera what it sends, told what became of the one before. */
function faultsOf(camera: (last: Choice | undefined, i: number) => string[]): (string | undefined)[] {
  const plan = new FaultPlan();
  let last: Choice | undefined;
  return Array.from({ length: FIRST }, (_, i) => {
    const keys = camera(last, i);
    last = plan.next(keys);
    if (last === undefined) plan.stored(keys);
    return last?.fault;
  });
}

t.test('each kind of fault comes in the first fifty requests, whatever the camera does', (t) => {
  let open: string[] = [];
  const cameras: Record<string, Parameters<typeof faultsOf>[0]> = {
    'fresh events only': (_last, i) => [`a${i}`, `b${i}`],
    'the same batch for ever': () => ['a', 'b'],
    'as it should': (last, i) => {
      if (last === undefined) open = [`a${i}`, `b${i}`];
      else if (last.fault === 'too_large') open = open.slice(1);
      else open = open.filter((key) => !last.named.includes(key));
      return open;
    },
  };
  for (const [name, camera] of Object.entries(cameras)) {
    const seen = new Set(faultsOf(camera).filter((fault) => fault !== undefined));
    t.strictSame([...seen].sort(), [...INJECTED_FAULTS].sort(), name);
  }
  const singles = new Set(faultsOf((_last, i) => [`a${i}`]));
  t.equal(singles.size, INJECTED_FAULTS.length, 'a single event is never too large; all others, and none');
  t.notOk(singles.has('too_large'));
  t.end();
});

t.test('what comes again is left alone, but for what has to be seen more than once', (t) => {
  const plan = new FaultPlan();
  for (const key of ['a', 'b']) t.equal(plan.next([key]), undefined);
  t.strictSame(
    [1, 2, 3, 4].map(() => plan.next(['c', 'd'])?.fault),
    ['busy', 'busy', 'busy', undefined],
  );
  plan.stored(['c', 'd']);
  const others = Array.from({ length: 60 }, (_, i) => plan.next([`e${i}`, `f${i}`, `g${i}`]));
  const large = others.findIndex((choice) => choice?.fault === 'too_large');
  const again = (...names: string[]) => plan.next(names.map((name) => `${name}${large}`))?.fault;
  t.equal(again('e', 'f', 'g'), 'too_large');
  t.equal(again('e', 'f'), undefined);
  const [named] = others.find((choice) => choice?.fault === 'invalid')?.named ?? [];
  for (let i = 0; i < 5; i++) t.match(plan.next([named!]), { fault: 'invalid', named: [named] });
  t.equal(plan.next([]), undefined);
  t.end();
});

t.test('the content of an event is its JSON value', (t) => {
  const one = event({ event_id: 'a', payload: { x_ft: 1, y_ft: 2 } });
  const { revision: _, ...bare } = one;
  const read = (...all: unknown[]) => sentEvents(Buffer.from(JSON.stringify(all)));
  const [a, b, c, d] = read(
    one,
    { ...bare, payload: { y_ft: 2, x_ft: 1 } },
    { ...one, event_id: 'b' },
    { ...one, revision: 1 },
  );
  t.strictSame(b, a);
  t.not(c!.content, a!.content);
  t.equal(c!.core, a!.core);
  t.strictSame([d!.id, d!.key === a!.key], [a!.id, false]);
  t.strictSame(sentEvents(Buffer.from(JSON.stringify(one))), [a], 'a single event');
  t.strictSame(read(null, 3, {}, { ...one, eot: 'soon' }), [], 'what is no event');
  t.end();
});

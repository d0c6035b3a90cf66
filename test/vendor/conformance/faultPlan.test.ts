import t from 'tap';
import { decodeBatch } from '../../../src/protocol/decodeBatch.ts';
import { sentEvent } from '../../../src/vendor/conformance/exchange.ts';
import {
  type Choice,
  FaultPlan,
  INJECTED_FAULTS,
  type InjectedFault,
} from '../../../src/vendor/conformance/faultPlan.ts';
import { event } from '../../harness/events.ts';

const OF_BATCHES: readonly (InjectedFault | undefined)[] = ['too_large', 'unnamed'];

/** @returns the faults of the first fifty requests. @param camera makes a request from the answer to the one before. */
function faultsOf(camera: (last: Choice | undefined, i: number) => string[]): Set<InjectedFault | undefined> {
  const plan = new FaultPlan();
  let last: Choice | undefined;
  const faults = Array.from({ length: 50 }, (_, i) => {
    const sent = camera(last, i);
    last = plan.next(sent);
    if (last === undefined) plan.stored(sent);
    return last?.fault;
  });
  return new Set(faults);
}

t.test('each kind of fault comes in the first fifty requests, whatever the camera does', (t) => {
  let open: string[] = [];
  const cameras: Record<string, Parameters<typeof faultsOf>[0]> = {
    'fresh events only': (_last, i) => [`a${i}`, `b${i}`],
    'the same batch for ever': () => ['a', 'b'],
    'another event_id each time': (last, i) => {
      open = last === undefined ? [`a${i}`, `b${i}`] : open.map((_, at) => `x${i} ${at}`);
      if (OF_BATCHES.includes(last?.fault)) open = open.slice(1);
      return last?.fault === 'invalid' ? [] : open;
    },
    'as it should': (last, i) => {
      if (last === undefined) open = [`a${i}`, `b${i}`];
      else if (OF_BATCHES.includes(last.fault)) open = open.slice(1);
      else open = open.filter((key) => !last?.named.includes(key));
      return open;
    },
  };
  for (const [name, camera] of Object.entries(cameras))
    t.strictSame(faultsOf(camera), new Set([undefined, ...INJECTED_FAULTS]), name);
  const ofSingles = INJECTED_FAULTS.filter((fault) => !OF_BATCHES.includes(fault));
  t.strictSame(
    faultsOf((_last, i) => [`a${i}`]),
    new Set([undefined, ...ofSingles]),
    'single events',
  );
  t.end();
});

t.test('what comes again is left alone, except for what has to be seen more than once', (t) => {
  const plan = new FaultPlan();
  const fault = (...names: string[]) => plan.next(names)?.fault;
  t.strictSame([fault('a'), fault('b')], [undefined, undefined]);
  t.strictSame([fault('c'), fault('c'), fault('c'), fault('c')], ['busy', 'busy', 'busy', undefined]);
  plan.stored(['c']);
  t.equal(fault(), undefined, 'a sign of life gets none');
  const others = Array.from({ length: 60 }, (_, i) => plan.next([`e${i}`, `f${i}`, `g${i}`]));
  for (const kind of OF_BATCHES) {
    const i = others.findIndex((choice) => choice?.fault === kind);
    t.equal(fault(`e${i}`, `f${i}`), undefined, 'a part is accepted');
  }
  const [named] = others.find((choice) => choice?.fault === 'invalid')?.named ?? [];
  for (let i = 0; i < 5; i++) t.match(plan.next([named!]), { fault: 'invalid', named: [named] });
  t.end();
});

t.test('the content of an event is its JSON value', (t) => {
  const one = event({ event_id: 'a', payload: { x_ft: 1, y_ft: 2 } });
  const { revision: _, ...bare } = one;
  const read = (sent: unknown) => sentEvent(decodeBatch(Buffer.from(JSON.stringify(sent)))[0]!);
  const a = read(one);
  t.strictSame(read({ ...bare, payload: { y_ft: 2, x_ft: 1 } }), a, 'the order of members does not count');
  const renamed = read({ ...one, event_id: 'b' });
  t.strictSame([renamed.content, renamed.id === a.id], [a.content, false]);
  for (const change of [
    { confidence: 0.1 },
    { payload: { x_ft: 1 } },
    { more: 1 },
    { eot: '2026-03-14T15:09:26Z' },
  ])
    t.not(read({ ...one, ...change }).content, a.content, Object.keys(change)[0]!);
  const revised = read({ ...one, revision: 1 });
  t.strictSame([revised.id, revised.key === a.key], [a.id, false]);
  t.strictSame(
    [a.odd, read({ ...one, type: 'BALL_SPEED', payload: { kmh: '58' } }).odd],
    [[], ['kmh as string']],
  );
  t.end();
});

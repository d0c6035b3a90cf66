import t from 'tap';
import { type Choice, FaultPlan, INJECTED_FAULTS } from '../../../src/vendor/conformance/faultPlan.ts';
import { sentEvents } from '../../../src/vendor/conformance/sentEvents.ts';
import { event } from '../../harness/events.ts';

const FIRST = 50;
/** `a2=a` is what was event a, under another event_id. */
const planned = (name: string) => ({ key: name, core: `core ${name.split('=').at(-1)}` });
const all = (...names: string[]) => names.map(planned);

/** @returns the faults of the first fifty requests. @param camera what it sends, told what became of the one before. */
function faultsOf(camera: (last: Choice | undefined, i: number) => string[]): (string | undefined)[] {
  const plan = new FaultPlan();
  let last: Choice | undefined;
  return Array.from({ length: FIRST }, (_, i) => {
    const sent = camera(last, i).map(planned);
    last = plan.next(sent);
    if (last === undefined) plan.stored(sent);
    return last?.fault;
  });
}

t.test('each kind of fault comes in the first fifty requests, whatever the camera does', (t) => {
  let open: string[] = [];
  const cameras: Record<string, Parameters<typeof faultsOf>[0]> = {
    'fresh events only': (_last, i) => [`a${i}`, `b${i}`],
    'the same batch for ever': () => ['a', 'b'],
    'another event_id each time': (last, i) => {
      open = last === undefined ? [`a${i}`, `b${i}`] : open.map((name) => `x${i}=${name.split('=').at(-1)}`);
      if (last?.fault === 'too_large') open = open.slice(1);
      return last?.fault === 'invalid' ? [] : open;
    },
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
  for (const key of ['a', 'b']) t.equal(plan.next(all(key)), undefined);
  t.strictSame(
    [1, 2, 3, 4].map(() => plan.next(all('c', 'd'))?.fault),
    ['busy', 'busy', 'busy', undefined],
  );
  plan.stored(all('c', 'd'));
  const others = Array.from({ length: 60 }, (_, i) => plan.next(all(`e${i}`, `f${i}`, `g${i}`)));
  const large = others.findIndex((choice) => choice?.fault === 'too_large');
  const again = (...names: string[]) => plan.next(all(...names.map((name) => `${name}${large}`)))?.fault;
  t.equal(again('e', 'f', 'g'), 'too_large');
  t.equal(again('e', 'f'), undefined);
  const [named] = others.find((choice) => choice?.fault === 'invalid')?.named ?? [];
  for (let i = 0; i < 5; i++) t.match(plan.next(all(named!)), { fault: 'invalid', named: [named] });
  t.equal(plan.next([]), undefined);
  t.end();
});

t.test('what comes again under another event_id is known, and a restart refuses all', (t) => {
  const plan = new FaultPlan();
  for (const name of ['a', 'b']) plan.next(all(name));
  const fault = (...names: string[]) => plan.next(all(...names))?.fault;
  t.strictSame(
    [fault('c'), fault('c1=c'), fault('c2=c'), fault('c3=c')],
    ['busy', 'busy', 'busy', undefined],
  );
  plan.stored(all('c3=c'));
  t.strictSame(
    [fault('d=c'), fault('e=c'), fault('f=c')],
    [undefined, undefined, 'busy_told'],
    'a new one that says the same',
  );
  t.equal(plan.isFirstRoundOver, false);
  for (let i = 0; !plan.isFirstRoundOver; i++) plan.next(all(`g${i}`));
  t.strictSame(plan.next(all('h'), 'restart'), { fault: 'restart', named: [] });
  const later = new Set(Array.from({ length: 40 }, () => fault('h')));
  t.strictSame([...later], [undefined], 'which is no fresh one afterwards');
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
  const [odd] = read({ ...one, type: 'BALL_SPEED', payload: { kmh: '58', x_ft: null, spin: [1] } });
  t.strictSame([a!.odd, odd!.odd], [[], ['kmh as text']], 'what the payload holds');
  t.strictSame(read(null, 3, {}, { ...one, eot: 'soon' }), [], 'what is no event');
  t.end();
});

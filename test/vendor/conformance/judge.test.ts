import t from 'tap';
import { CHECK_NAMES, type CheckName, judge } from '../../../src/vendor/conformance/judge.ts';
import { later, many, recording } from './recordings.ts';

/** What the judge says about a recording. */

const failed = (...lines: readonly string[]) =>
  judge(recording('', ...lines)).checks.flatMap(({ name, verdict }) => (verdict === 'fail' ? [name] : []));
const said = (name: CheckName, ...lines: readonly string[]) =>
  judge(recording('', ...lines)).checks.find((check) => check.name === name)!;

/** All that a camera can be asked for, done well; some of it by the fault that it answers. */
const WELL = [
  '0 a b; 1 c d | busy; 2.2 c d | busy; 4.4 c d | busy; 8.6 c d; 11 g h | told:401:3; 14.2 g h; 17 m n | named:n; 17.1 m',
];
const SAVED = {
  dropped: '9 e f | lost; 10 e f',
  unnamed: '15 i j | unnamed; 15.1 i; 15.2 j',
  too_large: '16 k l | large; 16.1 k; 16.2 l',
};

t.test('nothing seen is nothing passed, and a camera that does all of it well is certified', (t) => {
  const none = judge(recording(''));
  t.strictSame(
    none.checks.map(({ name, verdict }) => [name, verdict]),
    CHECK_NAMES.map((name) => [name, 'not seen']),
  );
  t.equal(none.certificate, false);
  const { certificate, checks } = judge(recording('', ...WELL, ...Object.values(SAVED)));
  t.strictSame([certificate, checks.filter(({ verdict }) => verdict !== 'pass')], [true, []]);
  for (const fault of Object.keys(SAVED)) {
    const others = Object.entries(SAVED).flatMap(([name, lines]) => (name === fault ? [] : lines));
    t.equal(said('loses_nothing', ...WELL, ...others).verdict, 'not seen', `without ${fault}`);
  }
  t.end();
});

/** What a careless camera does, and the one check that it fails. */
const CARELESS: readonly (readonly [what: string, CheckName, lines: string])[] = [
  ['another event_id', 'same_event_id', '0 a=x b=y | busy; 1 a2=x b2=y'],
  ['another event_id each time', 'same_event_id', '0 a=x | busy; 1.2 a2=x | busy; 3.6 a3=x'],
  ['another event_id at the end', 'same_event_id', `${later(-40)}; 0 a=x | lost; 1 a2=x`],
  ['another eot', 'same_content', '0 a b | lost; 1 a b | content:other'],
  ['too early', 'waits_as_told', '0 a | told:429:3; 1.2 a'],
  ['at once', 'backs_off', '0 a | busy; 0.1 a | busy; 0.2 a'],
  ['the same wait each time', 'backs_off', '0 a | busy; 1 a | busy; 2 a | busy; 3 a'],
  ['single events', 'batches', many(60, (i) => `${i / 10} single${i}`)],
  ['a clock that is behind', 'true_eot', many(6, (i) => `${i} s${i} | source:slow ahead:-3`)],
  ['a clock that is ahead', 'true_eot', many(6, (i) => `${i} s${i} | source:fast ahead:30`)],
  ['no offset', 'true_eot', '0 | fault:eot'],
  ['a batch again with the named', 'gives_up_on_400', '0 a b | named:b; 1 a b | named:b; 2 a'],
  ['a batch again, unnamed', 'gives_up_on_400', '0 a b | unnamed; 1 a b | unnamed; 2 a; 3 b'],
  ['a broken body again', 'gives_up_on_400', '0 | fault:body; 1 | fault:body'],
  ['dropped after a 401', 'survives_401', '0 a b | told:401:3'],
  ['kmh as text', 'payload_types', '0 a | odd:kmh'],
  ['x_ft as text', 'payload_types', '0 | fault:payload.x_ft'],
  ['a confidence in percent', 'loses_nothing', '0 | fault:confidence'],
  ['dropped after a 503', 'loses_nothing', '0 a b | busy'],
  ['dropped after a lost answer', 'loses_nothing', '0 a b | lost'],
  ['dropped after an unnamed 400', 'loses_nothing', '0 a b | unnamed'],
  ['the rest of a named 400 dropped', 'loses_nothing', '0 a b c | named:b'],
  ['the second half of a 413 dropped', 'loses_nothing', '0 a b | large; 1 a'],
];

t.test('a careless camera fails exactly the check that it is careless about', (t) => {
  for (const [what, name, lines] of CARELESS) t.strictSame(failed(lines, later()), [name], what);
  t.strictSame(new Set(CARELESS.map(([, name]) => name)), new Set(CHECK_NAMES));
  const { message } = said('waits_as_told', '0 a | told:429:3; 1.2 a');
  t.match(message, /request 2 at 15:00:01Z: 1\.2 s instead of 3 s/);
  t.end();
});

t.test('a batch that had a 401 and never came again is lost, whether the camera sends more or not', (t) => {
  const refused = '0 a b | told:401:3';
  t.strictSame(failed(refused, '9 c | source:other'), ['survives_401'], 'it fell silent');
  const others = many(12, (i) => `${1 + i / 10} c${i} d${i}`);
  t.strictSame(failed(refused, others), ['survives_401'], 'it sends others at once');
  t.strictSame(failed(refused, '2 c | source:other'), [], 'it is still waiting');
  t.end();
});

const FAIR: readonly (readonly [what: string, lines: string])[] = [
  ['events that all say the same', '0 a=x b=x | busy; 1 a=x b=x; 2 c=x d=x'],
  ['an older revision that was rejected when the higher one was stored', '0 a | busy; 0.5 a+1; 1 a'],
  ['a higher revision instead of a rejected one', '0 a | busy; 1 a+1'],
  ['sent again with others, in another order', '0 a b | lost; 1 c b a'],
  ['once more at once after a lost answer', '0 a | lost; 0.05 a'],
  ['halves until the named is found', '0 a b c d | named:b; 1 a b | named:b; 2 c d; 3 a; 4 b | named:b'],
  ['a named event that comes again, mended', '0 a b | named:b; 1 a b=mended'],
  ['another connection that sends meanwhile', '0 a | told:503:4; 0.5 b c; 4.5 a'],
  ['a gateway that sends for one source after another', '0 a | told:401:4; 5 b a | source:other'],
  ['a single late event', many(8, (i) => `${i} e${i} f${i} | ahead:${i === 3 ? -9 : 0}`)],
  ['one event a second', many(60, (i) => `${i} one${i} | source:slow`)],
  ['again behind newer ones, each time later', '0 a b | busy; 1 c a b | busy; 3 d c a b | busy; 7 e d c a b'],
  ['a machine that stood still at first', '0 a | busy; 3.4 a | busy; 5.4 a | busy; 9.5 a'],
];

t.test('a fault that the box or chance can have caused fails no camera', (t) => {
  for (const [what, lines] of FAIR) t.strictSame(failed(lines, later(70)), [], what);
  t.strictSame(failed('0 a b | busy'), [], 'a camera that was switched off meanwhile');
  t.end();
});

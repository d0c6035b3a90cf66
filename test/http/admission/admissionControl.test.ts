import t from 'tap';
import {
  BODIES_IN_FLIGHT_BYTES,
  CONCURRENT_REQUESTS,
  RETRY_AFTER_S,
  SMALL_BODY_BYTES,
  UNSENT_RESPONSES_BYTES,
} from '../../../src/base/limits.ts';
import { AdmissionControl } from '../../../src/http/admission/admissionControl.ts';

const OVERLOADED = { code: 'overloaded', headers: { 'Retry-After': `${RETRY_AFTER_S.overloaded}` } };
const HALF = BODIES_IN_FLIGHT_BYTES / 2;

t.test('large bodies have a bound in all, and each network half of it; small ones always pass', (t) => {
  const admission = new AdmissionControl();
  const one = admission.admit('one', HALF);
  t.throws(() => admission.admit('one', SMALL_BODY_BYTES + 1), OVERLOADED, 'it has its half');
  const other = admission.admit('other', HALF);
  t.throws(() => admission.admit('third', SMALL_BODY_BYTES + 1), OVERLOADED, 'all is taken');
  for (const network of ['one', 'third']) admission.admit(network, SMALL_BODY_BYTES).release();
  one.release();
  admission.admit('third', HALF).release();
  other.release();
  t.end();
});

t.test('what fills a bound exactly fits', (t) => {
  const admission = new AdmissionControl();
  for (let i = 0; i < 2; i++) admission.admit('one', HALF / 2);
  t.throws(() => admission.admit('one', SMALL_BODY_BYTES + 1), OVERLOADED);
  const piece = UNSENT_RESPONSES_BYTES / 8;
  t.ok(admission.admitUnsent('modest', piece));
  t.ok(admission.admitUnsent('greedy', 7 * piece), 'more than its share, where nobody wants the rest');
  t.equal(admission.admitUnsent('greedy', 1), undefined);
  t.end();
});

t.test('a body that grows beyond what it announced is asked again', (t) => {
  const admission = new AdmissionControl();
  const [packed, other] = [admission.admit('one', 1000), admission.admit('other', HALF)];
  packed.reserveBody(SMALL_BODY_BYTES);
  t.throws(() => packed.reserveBody(HALF + 1), OVERLOADED);
  other.release();
  packed.reserveBody(HALF + 1);
  t.end();
});

t.test('a body keeps the room that it announced while it arrives, and what it grows by counts once', (t) => {
  const admission = new AdmissionControl();
  const announced = admission.admit('one', HALF);
  announced.reserveBody(SMALL_BODY_BYTES + 1);
  t.throws(() => admission.admit('one', SMALL_BODY_BYTES + 1), OVERLOADED, 'its network has its half');
  announced.release();
  const growing = admission.admit('one', HALF / 2);
  growing.reserveBody(HALF);
  const other = admission.admit('other', HALF);
  growing.release();
  other.release();
  const all = admission.admit('one', BODIES_IN_FLIGHT_BYTES);
  t.throws(() => admission.admit('other', SMALL_BODY_BYTES + 1), OVERLOADED, 'all of it was free again');
  all.release();
  t.end();
});

t.test('one body may be larger than the bound, where it is the only one', (t) => {
  const admission = new AdmissionControl();
  const small = admission.admit('one', 0);
  const large = admission.admit('other', 4 * BODIES_IN_FLIGHT_BYTES);
  t.throws(() => admission.admit('third', SMALL_BODY_BYTES + 1), OVERLOADED);
  large.release();
  admission.admit('third', 4 * BODIES_IN_FLIGHT_BYTES).release();
  small.release();
  t.end();
});

t.test('who is refused takes no place', (t) => {
  const admission = new AdmissionControl();
  const large = admission.admit('one', BODIES_IN_FLIGHT_BYTES);
  for (let i = 0; i < 2 * CONCURRENT_REQUESTS; i++)
    t.throws(() => admission.admit('other', HALF), OVERLOADED);
  large.release();
  admission.admit('other', HALF).release();
  t.end();
});

t.test('answers that nobody takes have a bound, and cost those who have the most of them', (t) => {
  const admission = new AdmissionControl();
  const piece = UNSENT_RESPONSES_BYTES / 8;
  const greedy = Array.from({ length: 8 }, () => admission.admitUnsent('greedy', piece));
  t.ok(greedy.every((release) => release !== undefined));
  t.equal(admission.admitUnsent('greedy', piece), undefined, 'its connection is to be ended');
  const release = admission.admitUnsent('modest', 4 * piece);
  t.type(release, 'function', 'another one is not, up to its half');
  t.equal(admission.admitUnsent('modest', 1), undefined);
  greedy[0]!();
  release!();
  t.type(admission.admitUnsent('greedy', piece), 'function', 'and when some have gone there is room');
  t.end();
});

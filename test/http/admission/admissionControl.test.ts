import t from 'tap';
import {
  ANSWERS_UNTAKEN_BYTES,
  BODIES_BYTES,
  RETRY_AFTER_S,
  SERVED_REQUESTS,
  SMALL_BODY_BYTES,
} from '../../../src/base/limits.ts';
import { AdmissionControl } from '../../../src/http/admission/admissionControl.ts';

const OVERLOADED = { code: 'overloaded', headers: { 'Retry-After': `${RETRY_AFTER_S.overloaded}` } };
const HALF = BODIES_BYTES / 2;

t.test('large bodies have a bound in all, and each network half of it; small ones always pass', (t) => {
  const admission = new AdmissionControl();
  const one = admission.enter('one', HALF);
  t.throws(() => admission.enter('one', SMALL_BODY_BYTES + 1), OVERLOADED, 'it has its half');
  const other = admission.enter('other', HALF);
  t.throws(() => admission.enter('third', SMALL_BODY_BYTES + 1), OVERLOADED, 'all is taken');
  for (const network of ['one', 'third']) admission.enter(network, SMALL_BODY_BYTES).leave();
  one.leave();
  admission.enter('third', HALF).leave();
  other.leave();
  t.end();
});

t.test('a body that grows beyond what it announced is asked again', (t) => {
  const admission = new AdmissionControl();
  const [packed, other] = [admission.enter('one', 1000), admission.enter('other', HALF)];
  packed.grow(SMALL_BODY_BYTES);
  t.throws(() => packed.grow(HALF + 1), OVERLOADED);
  other.leave();
  packed.grow(HALF + 1);
  t.end();
});

t.test('one body may be larger than the bound, where it is the only one', (t) => {
  const admission = new AdmissionControl();
  const small = admission.enter('one', 0);
  const large = admission.enter('other', 4 * BODIES_BYTES);
  t.throws(() => admission.enter('third', SMALL_BODY_BYTES + 1), OVERLOADED);
  large.leave();
  admission.enter('third', 4 * BODIES_BYTES).leave();
  small.leave();
  t.end();
});

t.test('who is refused takes no place', (t) => {
  const admission = new AdmissionControl();
  const large = admission.enter('one', BODIES_BYTES);
  for (let i = 0; i < 2 * SERVED_REQUESTS; i++) t.throws(() => admission.enter('other', HALF), OVERLOADED);
  large.leave();
  admission.enter('other', HALF).leave();
  t.end();
});

t.test('answers that nobody takes have a bound, and cost those who have the most of them', (t) => {
  const admission = new AdmissionControl();
  const piece = ANSWERS_UNTAKEN_BYTES / 8;
  const greedy = Array.from({ length: 8 }, () => admission.answerWaits('greedy', piece));
  t.ok(greedy.every((leave) => leave !== undefined));
  t.equal(admission.answerWaits('greedy', piece), undefined, 'its connection is to be ended');
  const leave = admission.answerWaits('modest', piece);
  t.type(leave, 'function', 'another one is not');
  greedy[0]!();
  leave!();
  t.type(admission.answerWaits('greedy', piece), 'function', 'and when some have gone there is room');
  t.end();
});

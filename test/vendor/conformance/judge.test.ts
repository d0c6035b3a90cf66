import t from 'tap';
import { type Check, judge } from '../../../src/vendor/conformance/judge.ts';
import { busy, failing, type Line, later, NEW_CONNECTIONS, recording, restart, said } from './recordings.ts';

t.test('the lines come in the order of the contract, and nothing seen is nothing passed', (t) => {
  const { certificate, checks } = judge(recording([]));
  t.equal(certificate, false);
  t.strictSame(
    checks.map(({ name }) => name),
    [
      'same_event_id',
      'same_content',
      'waits_as_told',
      'backs_off',
      'batches',
      'raises_revision',
      'true_eot',
      'token_not_in_url',
      'gives_up_on_400',
      'splits_on_413',
      'keeps_connections',
      'survives_401',
      'payload_types',
      'loses_nothing',
    ],
  );
  t.equal(judge(recording([]), true).checks.at(-1)!.name, 'survives_restart');
  t.strictSame([...new Set(checks.map(({ verdict }) => verdict))], ['not seen']);
  t.end();
});

/** All that a camera can be asked for, done well. */
const WELL: readonly Line[] = [
  [0, { events: ['a', 'b'] }],
  [1, { events: ['a+1', 'c'] }],
  [2, { events: ['d', 'e'], status: 503, more: busy }],
  [3.2, { events: ['d', 'e'], status: 503, more: busy }],
  [5.4, { events: ['d', 'e'], status: 503, more: busy }],
  [9.6, { events: ['d', 'e'] }],
  [10, { events: ['f'], status: 503, more: { fault: 'busy_told', toldS: 4 } }],
  [14.1, { events: ['f'] }],
  [15, { events: ['g', 'h'], status: 400, more: { fault: 'invalid', named: ['h+0'] } }],
  [15.1, { events: ['g'] }],
  [16, { events: ['i', 'j'], status: 413 }],
  [16.1, { events: ['i'] }],
  [16.2, { events: ['j'] }],
  [16.3, { events: ['k', 'l'], status: 401, more: { toldS: 4 } }],
  [20.5, { events: ['k', 'l'] }],
  [21, { events: ['m', 'n'], status: 503, more: restart }],
  [24, { events: ['m', 'n'], status: 503, more: restart, connection: 2 }],
  [32, { events: ['m', 'n'], connection: 2 }],
];

t.test('a camera that does all of it well is certified', (t) => {
  const { certificate, checks } = judge(recording([...WELL, ...later(33, 2)]), true);
  for (const { name, verdict, message, requests } of checks) {
    t.equal(verdict, 'pass', `${name}: ${message}`);
    t.ok(requests.length > 0 && requests.length <= 6, `${name} is shown by ${requests.length} requests`);
  }
  t.equal(certificate, true);
  t.end();
});

/** Each camera fails the one line that it is careless about. */
const CARELESS: Readonly<Record<Check['name'], readonly Line[]>> = {
  same_event_id: [
    [0, { events: ['a=x', 'b=y'], status: 503 }],
    [1, { events: ['a2=x', 'b2=y'] }],
  ],
  same_content: [
    [0, { events: ['a', 'b'], status: 0 }],
    [1, { events: ['a', 'b'], content: 'another eot' }],
  ],
  waits_as_told: [
    [0, { events: ['a'], status: 429, more: { toldS: 3 } }],
    [1.2, { events: ['a'] }],
  ],
  backs_off: [
    [0, { events: ['a'], status: 503, more: busy }],
    [0.1, { events: ['a'], status: 503, more: busy }],
    [0.2, { events: ['a'] }],
  ],
  batches: Array.from({ length: 60 }, (_, i): Line => [i / 10, { events: [`single ${i}`] }]),
  raises_revision: [
    [0, { events: ['a'] }],
    [1, { events: ['a'], content: 'corrected' }],
  ],
  true_eot: Array.from(
    { length: 6 },
    (_, i): Line => [i, { events: [`slow ${i}`], source: 'slow', aheadS: -3 }],
  ),
  token_not_in_url: [[0, { events: ['a'], more: { isTokenInUrl: true } }]],
  gives_up_on_400: [
    [0, { events: ['a', 'b'], status: 400, more: { named: ['b+0'] } }],
    [1, { events: ['b', 'a'], status: 400, more: { named: ['b+0'] } }],
    [2, { events: ['a'] }],
  ],
  splits_on_413: [
    [0, { events: ['a', 'b', 'c'], status: 413 }],
    [1, { events: ['a', 'b', 'c'], status: 413 }],
    [2, { events: ['a', 'b', 'c'] }],
  ],
  keeps_connections: NEW_CONNECTIONS,
  survives_401: [[0, { events: ['a', 'b'], status: 401, more: { toldS: 4 } }]],
  payload_types: [[0, { events: ['a'], odd: ['kmh as text'] }]],
  loses_nothing: [[0, { events: ['a', 'b'], status: 503 }]],
  survives_restart: [
    [0, { events: ['a', 'b'], status: 503, more: restart }],
    [5, { events: ['c'], status: 503, more: restart, connection: 2 }],
    [9.9, { events: ['c'], connection: 2 }],
  ],
};

/** Others, each with the check that it fails and what that says. */
const MORE: Readonly<Record<string, readonly [Check['name'], RegExp, readonly Line[]]>> = {
  'another event_id each time': [
    'same_event_id',
    /^2 resends .* such as a2 for a:/,
    [
      [0, { events: ['a=x'], status: 503, more: busy }],
      [1.2, { events: ['a2=x'], status: 503, more: busy }],
      [3.6, { events: ['a3=x'] }],
    ],
  ],
  'another event_id, with the last request of all': [
    'same_event_id',
    /such as a2 for a:/,
    [...later(-40), [0, { events: ['a=x'], status: 0 }], [1, { events: ['a2=x'] }]],
  ],
  'a lower revision': [
    'raises_revision',
    /^Revision 4 of an event came after revision 5/,
    [
      [0, { events: ['a+5'] }],
      [1, { events: ['a+4'] }],
    ],
  ],
  'the rest of a batch, dropped with what a 400 named': [
    'gives_up_on_400',
    /^2 events never came again after a 400/,
    [[0, { events: ['a', 'b', 'c'], status: 400, more: { named: ['b+0'] } }]],
  ],
  'the second half of a 413': [
    'splits_on_413',
    /^1 event never came again after a 413/,
    [
      [0, { events: ['a', 'b'], status: 413 }],
      [1, { events: ['a'] }],
    ],
  ],
  'a request before the last answer': [
    'keeps_connections',
    /pipelining/,
    [[0, { events: ['a'], more: { isPipelined: true } }]],
  ],
  'a number where a bounce has a text, which the box refuses': [
    'payload_types',
    /payload\.x_ft must be a number/,
    [[0, { status: 400, more: { faults: [{ path: 'payload.x_ft', message: 'must be a number' }] } }]],
  ],
  'a confidence in percent': [
    'loses_nothing',
    /First: confidence must be at most 1/,
    [[0, { status: 400, more: { faults: [{ path: 'confidence', message: 'must be at most 1' }] } }]],
  ],
};

t.test('each check says what it was', (t) => {
  for (const [what, [name, message, told]] of Object.entries(MORE)) {
    t.strictSame(failing([...told, ...later()]), [name], what);
    t.match(said(name, [...told, ...later()]), { verdict: 'fail', message }, what);
  }
  t.end();
});

t.test('a careless camera fails exactly the line that it is careless about', (t) => {
  for (const [name, told] of Object.entries(CARELESS)) {
    const ends = Object.fromEntries(Array.from({ length: 12 }, (_, i) => [i + 2, 'camera']));
    t.strictSame(failing([...told, ...later()], ends), [name], name);
    t.ok(said(name as Check['name'], [...told, ...later()], ends).requests.length > 0, `${name} is shown`);
  }
  t.end();
});

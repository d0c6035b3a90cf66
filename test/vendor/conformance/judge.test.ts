import t from 'tap';
import { type Check, JUDGES, judge } from '../../../src/vendor/conformance/judge.ts';
import { recording, type Told } from './recordings.ts';

type Line = readonly [atS: number, what: Told];

const busy = { fault: 'busy' } as const;
const said = (name: Check['name'], told: readonly Line[], ends = {}) => {
  const { checks } = judge(recording(told, ends));
  const { verdict, message, requests } = checks.find((check) => check.name === name)!;
  return { verdict, message, requests: requests.map(({ number }) => number) };
};
/** Goes on for half a minute, so that what was not sent again by then never was. */
const later = (fromS = 10): Line[] =>
  Array.from({ length: 30 }, (_, i) => [fromS + i, { events: [`later ${i}`, `more ${i}`] }]);
const failing = (told: readonly Line[], ends = {}) =>
  judge(recording(told, ends)).checks.flatMap(({ name, verdict }) => (verdict === 'fail' ? [name] : []));

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
      'loses_nothing',
    ],
  );
  t.strictSame(Object.keys(JUDGES).length, 12);
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
];

t.test('a camera that does all of it well is certified', (t) => {
  const { certificate, checks } = judge(recording([...WELL, ...later(17)]));
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
  keeps_connections: Array.from(
    { length: 12 },
    (_, i): Line => [i, { events: [`a${i}`], connection: i + 2 }],
  ),
  loses_nothing: [[0, { events: ['a', 'b'], status: 503 }]],
};

t.test('a careless camera fails exactly the line that it is careless about', (t) => {
  for (const [name, told] of Object.entries(CARELESS)) {
    const ends = Object.fromEntries(Array.from({ length: 12 }, (_, i) => [i + 2, 'camera']));
    t.strictSame(failing([...told, ...later()], ends), [name], name);
    t.ok(said(name as Check['name'], [...told, ...later()], ends).requests.length > 0, `${name} is shown`);
  }
  t.end();
});

t.test('an event that has not come again is not told as if nothing had been refused', (t) => {
  const refused: readonly Line[] = [[0, { events: ['a'], status: 503 }]];
  const sentence = 'No refused or lost event came again yet: let the camera send more.';
  t.match(said('same_content', refused), { verdict: 'not seen', message: sentence });
  const { message } = said('loses_nothing', refused);
  t.equal(message, `${sentence} 1 event still on the way at the end.`);
  t.end();
});

t.test("what is the box's doing, or bad luck, fails nobody", (t) => {
  const fair: Readonly<Record<string, readonly Line[]>> = {
    'events that all say the same': [
      [0, { events: ['a=x', 'b=x'], status: 503 }],
      [1, { events: ['a=x', 'b=x'] }],
      [2, { events: ['c=x', 'd=x'] }],
    ],
    'sent again with others, in another order': [
      [0, { events: ['a', 'b'], status: 0 }],
      [1, { events: ['c', 'b', 'a'] }],
    ],
    'a batch that is cut down until the named event is found': [
      [0, { events: ['a', 'b', 'c', 'd'], status: 400, more: { named: ['b+0'] } }],
      [1, { events: ['a', 'b'], status: 400, more: { named: ['b+0'] } }],
      [2, { events: ['c', 'd'] }],
      [3, { events: ['a'] }],
      [4, { events: ['b'], status: 400, more: { named: ['b+0'] } }],
    ],
    'a named event that comes again, mended': [
      [0, { events: ['a', 'b'], status: 400, more: { named: ['b+0'] } }],
      [1, { events: ['a', 'b=mended'] }],
    ],
    'once more at once after a lost connection': [
      [0, { events: ['a'], status: 0, more: { fault: 'dropped' } }],
      [0.05, { events: ['a'] }],
    ],
    'another connection, which sends meanwhile': [
      [0, { events: ['a'], status: 503, more: { toldS: 4 } }],
      [0.5, { events: ['b', 'c'], connection: 2 }],
      [4.5, { events: ['a'] }],
    ],
    'a correction of what is still on the way': [
      [0, { events: ['a'], status: 503 }],
      [1, { events: ['a+1'] }],
    ],
    'a single event that is late, of a camera whose clock is right': [
      ...Array.from(
        { length: 8 },
        (_, i): Line => [i, { events: [`e${i}`, `f${i}`], aheadS: i === 3 ? -9 : 0 }],
      ),
    ],
    'a camera that has one event a second': Array.from(
      { length: 60 },
      (_, i): Line => [i, { events: [`one ${i}`], source: 'slow' }],
    ),
  };
  for (const [name, told] of Object.entries(fair)) {
    if (name.startsWith('a correction')) t.strictSame(failing([...told, ...later(40)]), [], name);
    else t.strictSame(failing([...told, ...later(70)]), [], name);
  }
  const boxEnds = Object.fromEntries(Array.from({ length: 12 }, (_, i) => [i + 2, 'box']));
  t.strictSame(
    failing([...CARELESS.keeps_connections, ...later(20)], boxEnds),
    [],
    'connections that the box ended',
  );
  t.strictSame(
    failing([[0, { events: ['a', 'b'], status: 503 }]]),
    [],
    'a camera that was switched off meanwhile',
  );
  t.end();
});

t.test('an eot without an offset fails, and a clock that is ahead', (t) => {
  t.match(said('true_eot', [[0, { status: 400, more: { isEotFaulty: true } }]]), { verdict: 'fail' });
  const ahead = Array.from({ length: 6 }, (_, i): Line => [i, { events: [`e${i}`], aheadS: 30 }]);
  t.match(said('true_eot', ahead), { verdict: 'fail', message: /^The clock of cam is 29\.8 s ahead/ });
  t.match(said('true_eot', ahead.slice(0, 4)), { verdict: 'not seen' });
  t.end();
});

t.test('the same wait each time is no backing off', (t) => {
  const at = (...seconds: number[]): Line[] =>
    seconds.map((second, i) => [second, { events: ['a'], ...(i < 3 && { status: 503, more: busy }) }]);
  t.match(said('backs_off', at(0, 1, 2, 3)), { verdict: 'fail', message: /waited 1\.0 s, 1\.0 s, 1\.0 s/ });
  t.match(said('backs_off', at(0, 1, 3, 7)), { verdict: 'pass', requests: [1, 2, 3, 4] });
  t.match(said('backs_off', at(0, 0.6, 1.8, 4)), { verdict: 'pass' });
  t.match(
    said('backs_off', at(0, 3.4, 5.4, 9.5)),
    { verdict: 'pass' },
    'a machine that stood still at first',
  );
  t.match(said('backs_off', at(0, 1, 3)), { verdict: 'not seen' });
  t.end();
});

t.test(
  'two events of one key in one request are a correction that was not raised, also when it comes again',
  (t) => {
    const both = { events: ['a', 'a=corrected'] };
    const told: Line[] = [
      [0, { ...both, status: 503 }],
      [1, both],
    ];
    for (const lines of [told.slice(1), told])
      t.strictSame(failing([...lines, ...later()]), ['raises_revision']);
    t.end();
  },
);

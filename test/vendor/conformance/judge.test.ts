import t from 'tap';
import { type Check, judge } from '../../../src/vendor/conformance/judge.ts';
import { recording, type Told } from './recordings.ts';

type Line = readonly [atS: number, what: Told];

const busy = { fault: 'busy' } as const;
const restart = { fault: 'restart', toldS: 4 } as const;
const said = (name: Check['name'], told: readonly Line[], ends = {}) => {
  const { checks } = judge(recording(told, ends), true);
  const { verdict, message, requests } = checks.find((check) => check.name === name)!;
  return { verdict, message, requests: requests.map(({ number }) => number) };
};
/** Goes on for half a minute, so that what was not sent again by then never was. */
const later = (fromS = 10, connection = 1): Line[] =>
  Array.from({ length: 30 }, (_, i) => [fromS + i, { events: [`later ${i}`, `more ${i}`], connection }]);
const failing = (told: readonly Line[], ends = {}) =>
  judge(recording(told, ends), true).checks.flatMap(({ name, verdict }) =>
    verdict === 'fail' ? [name] : [],
  );

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
  keeps_connections: Array.from(
    { length: 12 },
    (_, i): Line => [i, { events: [`a${i}`], connection: i + 2 }],
  ),
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

t.test('a camera that falls silent after a 401 was not switched off', (t) => {
  const told: Line[] = [
    [0, { events: ['a'], status: 401, more: { toldS: 4 } }],
    [30, { events: ['b'], source: 'other' }],
    [70, { events: ['c'], source: 'other' }],
  ];
  t.match(said('survives_401', told), {
    verdict: 'fail',
    message: /nothing more after a 401/,
    requests: [1],
  });
  t.match(said('survives_401', told.slice(0, 2)), { verdict: 'not seen' });
  t.end();
});

t.test('the wait before what comes under another event_id is that of a resend', (t) => {
  const told: Line[] = [
    [0, { events: ['a=x'], status: 429, more: { toldS: 3 } }],
    [1, { events: ['a2=x'] }],
  ];
  t.strictSame(failing([...told, ...later()]), ['same_event_id', 'waits_as_told']);
  t.match(said('waits_as_told', [...told, ...later()]), {
    message: /after 1\.0 s instead of 3 s/,
    requests: [1, 2],
  });
  t.end();
});

t.test('where nothing was corrected nothing is wrong, and no request shows it', (t) => {
  const { verdict, message, requests } = said('raises_revision', later());
  t.match({ verdict, message, requests }, { verdict: 'pass', message: /^Not tested/ });
  t.strictSame(requests, []);
  t.end();
});

t.test('a camera with two connections that was not switched off has not been tested', (t) => {
  const told: Line[] = [
    [0, { events: ['a', 'b'], connection: 2 }],
    [1, { events: ['c', 'd'], status: 503, more: restart }],
    [5.2, { events: ['c', 'd'], connection: 2 }],
    [6, { events: ['e', 'f'] }],
  ];
  t.match(said('survives_restart', told), { verdict: 'not seen', message: /switch it off and on/ });
  t.end();
});

t.test('a camera that was not switched off when the box asked for it has not been tested', (t) => {
  const told: Line[] = [
    [0, { events: ['a'], status: 503, more: restart }],
    [6, { events: ['a'] }],
  ];
  t.match(said('survives_restart', [...told, ...later()]), { verdict: 'not seen', message: /switch it off/ });
  t.match(said('survives_restart', later()), { verdict: 'not seen', message: /not yet asked/ });
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
    'events that all say the same, one of which is late': [
      [0, { events: ['a=x'] }],
      [1, { events: ['b=x'], status: 503, more: { toldS: 4 } }],
      [2, { events: ['c=x'] }],
      [5.5, { events: ['b=x'] }],
    ],
    'an older revision that was refused when the higher one was stored': [
      [0, { events: ['a'], status: 503 }],
      [0.5, { events: ['a+1'] }],
      [1, { events: ['a'] }],
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
    'half a minute after a 401, while another connection sends': [
      ...later(-60),
      [0, { events: ['a'], status: 401, more: { toldS: 4 } }],
      ...Array.from({ length: 30 }, (_, i): Line => [i + 1, { events: [`b${i}`, `c${i}`], connection: 2 }]),
      [34, { events: ['a'] }],
    ],
    'a gateway that sends after a 401 for one source first, and then for another': [
      [0, { events: ['a'], status: 401, more: { toldS: 4 } }],
      [5, { events: ['b', 'a'], source: 'other' }],
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
  t.match(said('true_eot', [[0, { status: 400, more: { faults: [{ path: 'eot', message: '' }] } }]]), {
    verdict: 'fail',
  });
  const ahead = Array.from({ length: 6 }, (_, i): Line => [i, { events: [`e${i}`], aheadS: 30 }]);
  t.match(said('true_eot', ahead), { verdict: 'fail', message: /^The clock of cam is 29\.8 s ahead/ });
  t.match(said('true_eot', ahead.slice(0, 4)), { verdict: 'not seen' });
  t.end();
});

t.test('a 401 that half a minute has not passed since is no loss', (t) => {
  const others = Array.from({ length: 30 }, (_, i): Line => [i + 1, { events: [`b${i}`, `c${i}`] }]);
  t.strictSame(failing([[0, { events: ['a'], status: 401, more: { toldS: 4 } }], ...others]), []);
  t.end();
});

t.test('an event that says the same as one that still waits is another one', (t) => {
  const told: Line[] = [
    ...later(-40),
    [0, { events: ['a=x'], status: 503, more: { toldS: 4 } }],
    [1, { events: ['b=x'], connection: 2 }],
  ];
  t.strictSame(failing(told), []);
  t.strictSame(failing([...told, ...later(10, 2)]), ['same_event_id', 'waits_as_told'], 'it did not wait');
  t.end();
});

t.test('what backs off may come again behind newer events', (t) => {
  const told: Line[] = [
    [0, { events: ['a', 'b'], status: 503, more: busy }],
    [1, { events: ['c', 'a', 'b'], status: 503, more: busy }],
    [3, { events: ['d', 'c', 'a', 'b'], status: 503, more: busy }],
    [7, { events: ['e', 'd', 'c', 'a', 'b'] }],
  ];
  t.match(said('backs_off', told), { verdict: 'pass', message: /1\.0 s, 2\.0 s, 4\.0 s/ });
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

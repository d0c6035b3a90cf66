import t from 'tap';
import { busy, failing, type Line, later, NEW_CONNECTIONS, restart, said } from './recordings.ts';

/** Cameras that are not at fault, or in doubt: what fails nobody, and what is not known. */

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
  t.strictSame(failing([...NEW_CONNECTIONS, ...later(20)], boxEnds), [], 'connections that the box ended');
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

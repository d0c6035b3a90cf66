import t from 'tap';
import { type Break, Chains } from '../../../src/fleet/headquarters/chain.ts';
import { type ChunkHead, chunkHead, SHA256 } from '../../../src/fleet/nats/fleetLog.ts';
import { arrivalLine, type Chunk, chunkOf } from '../../harness/simulatedBox.ts';

/** @returns the chunk of all seqs behind `after`, up to `last`. */
function all(after: number, last: number): Chunk {
  return chunkOf(
    after,
    last,
    Array.from({ length: last - after }, (_, i) => arrivalLine(after + i + 1)),
  );
}

/** A message: whose it is, as BOX.EPOCH, and the chunk. */
type Sent = readonly [from: string, chunk: Chunk, head?: ChunkHead];

/** @returns what is wrong with each of the messages, in the order of the stream. */
function faults(...messages: readonly Sent[]): string[] {
  return breaks(messages.map((message, i) => [i + 1, ...message])).map(({ at, what }) => `${at}: ${what}`);
}

/** The same with the number that each message has in the stream. */
function breaks(messages: readonly (readonly [at: number, ...Sent])[], canDelete = true): Break[] {
  const chains = new Chains(canDelete);
  return messages.flatMap(([at, from, chunk, head = chunk]) => {
    const [box, epoch] = from.split('.') as [string, string];
    return chains.add({ box, epoch }, at, head, chunk.data);
  });
}

t.test(
  'a chain is whole: boxes in turn, holes of what was pruned, a new epoch behind what is there',
  async (t) => {
    const pruned = chunkOf(7, 20, [arrivalLine(12), arrivalLine(20)]);
    t.strictSame(
      faults(['a.1', all(0, 5)], ['b.1', all(0, 3)], ['a.1', all(5, 7)], ['a.1', pruned], ['b.1', all(3, 4)]),
      [],
    );
    t.strictSame(faults(['a.1', all(0, 5)], ['a.2', all(5, 6)]), [], 'the next after the last');
    t.strictSame(
      faults(['a.1', all(0, 5)], ['a.2', all(3, 9)], ['a.2', all(9, 10)]),
      [],
      'a backup had less',
    );
    t.strictSame(faults(['a.1', all(0, 5)], ['a.2', all(0, 9)]), [], 'another machine of that name');
  },
);

t.test('two machines of one name are found, and no box that was replaced', async (t) => {
  const doublesOf = (...messages: readonly Sent[]) => {
    const chains = new Chains(true);
    for (const [from, chunk] of messages) {
      const [box, epoch] = from.split('.') as [string, string];
      chains.add({ box, epoch }, 1, chunk, chunk.data);
    }
    return [...chains.doubles];
  };
  const replaced: Sent[] = [
    ['a.1', all(0, 5)],
    ['b.1', all(0, 2)],
    ['a.2', all(0, 9)],
    ['a.2', all(9, 10)],
  ];
  t.strictSame(doublesOf(...replaced), []);
  t.strictSame(doublesOf(...replaced, ['b.1', all(2, 3)], ['a.1', all(5, 6)]), ['a']);
});

t.test('every break of a chain is found', async (t) => {
  const broken: readonly [Sent[], RegExp][] = [
    [
      [
        ['a.1', all(0, 5)],
        ['a.1', all(6, 7)],
      ],
      /^2: it begins after seq 6, and the one before it ends with seq 5$/,
    ],
    [
      [
        ['a.1', all(0, 5)],
        ['a.1', all(4, 7)],
      ],
      /^2: it begins after seq 4/,
    ],
    [
      [
        ['a.1', all(0, 5)],
        ['a.1', all(0, 5)],
      ],
      /^2: it begins after seq 0/,
    ],
    [[['a.1', all(2, 5)]], /^1: it is the first of its box, and begins after seq 2 instead of 0$/],
    [
      [
        ['a.1', all(0, 5)],
        ['a.2', all(6, 7)],
      ],
      /^2: it is the first of its epoch, .* the box's last one was 5$/,
    ],
    [
      [
        ['b.1', all(0, 5)],
        ['a.1', all(5, 7)],
      ],
      /^2: it is the first of its box/,
    ],
    [[['a.1', { ...all(0, 5), count: 6 }]], /^1: it has 5 events, and Courtd-Count says 6$/],
    [[['a.1', { ...all(0, 5), last: 6 }]], /^1: its last event is seq 5, and Courtd-Last says 6$/],
    [[['a.1', { ...all(0, 5), after: 1, last: 5 }]], /begins after seq 1 instead of 0/],
    [[['a.1', { ...all(0, 5), sha256: 'a'.repeat(64) }]], /^1: its data is not what Courtd-SHA256 says$/],
    [
      [['a.1', chunkOf(0, 2, [arrivalLine(2), arrivalLine(1)])]],
      /^1: its events are not in the order of their seq/,
    ],
    [[['a.1', { ...all(0, 5), last: 0 }]], /^1: it ends with seq 0, and begins after seq 0/],
  ];
  for (const [messages, fault] of broken) t.match(faults(...messages)[0], fault);
  const [noHead] = new Chains(true).add({ box: 'a', epoch: '1' }, 1, undefined, all(0, 1).data);
  t.match(noHead, { box: 'a', at: 1, what: 'it does not have the headers of a chunk' });
});

t.test('a chunk that was deleted is missing, and no break, where the stream gave its number', async (t) => {
  const missing = (...messages: Parameters<typeof breaks>[0]) =>
    breaks(messages).map(({ missing }) => missing);
  t.strictSame(
    missing([1, 'a.1', all(0, 5)], [2, 'b.1', all(0, 3)], [5, 'a.1', all(9, 10)], [6, 'b.1', all(3, 4)]),
    [{ from: 6, to: 9 }],
    'two chunks in a row; a box that lacks nothing is not named',
  );
  t.strictSame(missing([3, 'a.1', all(7, 9)]), [{ from: 1, to: 7 }], 'the first of a box');
  t.strictSame(
    missing([1, 'a.1', all(0, 5)], [3, 'a.2', all(8, 9)]),
    [{ from: 6, to: 8 }],
    'the first of an epoch',
  );
  const left = [
    [1, 'a.1', all(0, 5)],
    [3, 'b.1', all(0, 3)],
    [4, 'a.1', all(5, 6)],
  ] as const;
  t.strictSame(missing(...left), [], 'the last chunk of a box, which it has sent again');
  t.strictSame(
    missing(...left, [5, 'a.1', all(7, 8)]),
    [undefined],
    'no number is gone since its last message',
  );
  t.strictSame(missing([1, 'a.1', all(0, 5)], [3, 'a.1', all(4, 6)]), [undefined], 'what is there twice');
  const [lost] = breaks(
    [
      [1, 'a.1', all(0, 5)],
      [3, 'a.1', all(6, 7)],
    ],
    false,
  );
  t.match(lost, { at: 3, what: /^it begins after seq 6/, missing: undefined }, 'nobody can have deleted it');
});

t.test('headers that are not those of a chunk are none', async (t) => {
  const right = { 'Courtd-After': '0', 'Courtd-Last': '5', 'Courtd-Count': '5', [SHA256]: 'a'.repeat(64) };
  const head = (more: Record<string, string>) => {
    const values: Record<string, string> = { ...right, ...more };
    return chunkHead({ get: (name) => values[name] ?? '' });
  };
  t.strictSame(head({}), { after: 0, last: 5, count: 5, sha256: 'a'.repeat(64) });
  for (const wrong of ['', '-1', '1.5', 'x', '9'.repeat(16)])
    t.equal(head({ 'Courtd-Last': wrong }), undefined, wrong);
  t.equal(head({ [SHA256]: 'A'.repeat(64) }), undefined);
  t.equal(chunkHead(undefined), undefined);
});

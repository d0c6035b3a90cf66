import t from 'tap';
import { screen } from '../../../src/cli/fleet/status.ts';
import { type BoxRow, rank, rowOf } from '../../../src/fleet/headquarters/boxes.ts';

const NOW = Date.UTC(2026, 2, 14, 12);
const MINUTE = 60_000;

interface Heard {
  readonly statusAgo?: number;
  readonly chunkAgo?: number;
  readonly last?: number;
  readonly status?: Record<string, unknown>;
}

/** A row of a box that was heard of so many milliseconds ago. */
function row({ statusAgo = 0, chunkAgo = 0, last = 10, status = {} }: Heard = {}, box = 'venue-1'): BoxRow {
  const usual = {
    epoch: 'e1',
    state: 'current',
    newest_seq: 10,
    behind_events: 0,
    behind_s: 0,
    problems: [],
  };
  const told = { atMs: NOW - statusAgo, status: { ...usual, ...status } };
  return rowOf(box, { epoch: 'e1', last, atMs: NOW - chunkAgo }, told, NOW);
}

const problem = (level: string) => ({ code: 'disk', level, message: 'the disk is full', advice: 'Prune.' });

t.test('what a box has told, and what headquarters has of it, make its row', async (t) => {
  t.strictSame(row({ statusAgo: MINUTE, chunkAgo: 2 * MINUTE }), {
    box: 'venue-1',
    epoch: 'e1',
    state: 'current',
    last_status_at: '2026-03-14T11:59:00.000Z',
    silent_since: null,
    shipped_seq: 10,
    newest_seq: 10,
    behind_events: 0,
    behind_s: 0,
    last_chunk_at: '2026-03-14T11:58:00.000Z',
    error: null,
    problems: [],
  });
  const behind = { state: 'behind', newest_seq: 90, behind_events: 80, behind_s: 7_200 };
  t.match(row({ status: behind }), { behind_events: 80, behind_s: 7_200, shipped_seq: 10 });
  const since = row({ status: behind, last: 90 });
  t.match(since, { state: 'current', behind_events: 0, behind_s: 0 }, 'it has caught up since');
  const nested = { ship: { state: 'fenced', newest_seq: 3, epoch: 'e2' }, problems: [problem('warn')] };
  t.match(row({ status: nested }), {
    state: 'fenced',
    newest_seq: 3,
    epoch: 'e2',
    problems: [{ code: 'disk' }],
  });
  t.match(row({ status: { state: 7, problems: [null, {}, 'x'], newest_seq: 'many', epoch: null } }), {
    state: null,
    newest_seq: null,
    problems: [],
  });
});

t.test(
  'a box is silent where neither a status nor events have come for two and a half minutes',
  async (t) => {
    t.equal(row({ statusAgo: 2 * MINUTE, chunkAgo: 60 * MINUTE }).silent_since, null);
    t.equal(row({ statusAgo: 60 * MINUTE, chunkAgo: 2 * MINUTE }).silent_since, null);
    t.equal(row({ statusAgo: 4 * MINUTE, chunkAgo: 3 * MINUTE }).silent_since, '2026-03-14T11:57:00.000Z');
    const onlyStatus = rowOf('a', undefined, { atMs: NOW, status: { shipped_seq: null } }, NOW);
    t.match(onlyStatus, { last_chunk_at: null, shipped_seq: null, silent_since: null, behind_events: null });
    const onlyEvents = rowOf('a', { epoch: 'e1', last: 4, atMs: NOW - 5 * MINUTE }, undefined, NOW);
    t.match(onlyEvents, {
      last_status_at: null,
      state: null,
      shipped_seq: 4,
      silent_since: '2026-03-14T11:55:00.000Z',
    });
  },
);

t.test('the worst is what needs a person first', async (t) => {
  const rows = [
    row({ status: { state: 'fenced' } }),
    row({ statusAgo: 9 * MINUTE, chunkAgo: 9 * MINUTE }),
    row({ status: { error: 'Headquarters is full.' } }),
    row({ status: { problems: [problem('warn')] } }),
    row({ status: { newest_seq: 11, behind_events: 1 } }),
    row(),
  ];
  t.strictSame(rows.map(rank), [5, 4, 3, 2, 1, 0]);
  t.equal(rank(row({ status: { problems: [problem('warn'), problem('fail')] } })), 5);
  t.equal(rank(rowOf('a', { epoch: 'e1', last: 4, atMs: 0 }, undefined, NOW)), 0, 'a box that was retired');
});

t.test(
  'forty boxes are forty lines, each as wide as the screen at most, with no escape of theirs',
  async (t) => {
    const rows = Array.from({ length: 40 }, (_, i) =>
      row(
        { status: { problems: [{ ...problem('fail'), message: `\u001b[2J${'long '.repeat(40)}` }] } },
        `venue-${i}`,
      ),
    );
    const canvas = { columns: 80, rows: 50, hasColor: false, ramp: undefined };
    const lines = screen(rows, canvas, NOW).split('\n');
    t.equal(lines.length, 40 + 3);
    t.ok(lines.every((line) => line.length <= 80));
    t.notMatch(lines.join(''), '\u001b');
    t.equal(lines[41], '40 boxes: 40 with problems, 0 silent, 0 behind, 0 well');
    t.match(
      screen([row({ statusAgo: 9 * MINUTE, chunkAgo: 9 * MINUTE })], canvas, NOW),
      /silent .* silent for 9m\n/,
    );
    const both = row({
      statusAgo: 9 * MINUTE,
      chunkAgo: 9 * MINUTE,
      status: { problems: [problem('fail')] },
    });
    t.match(
      screen([both, row()], canvas, NOW),
      /2 boxes: 0 with problems, 1 silent, 0 behind, 1 well\n/,
      'each counts once',
    );
    t.match(screen([], canvas, NOW), /^No box/);
  },
);

import t from 'tap';
import { wrongClocks } from '../../../src/session/analysis/clocks.ts';
import { SessionTally } from '../../../src/session/analysis/sessionTally.ts';
import { reader } from '../../harness/readEvents.ts';

const S = 1_000;
const START_MS = Date.UTC(2026, 2, 14, 15);

interface Camera {
  /** How far its clock is ahead. */
  readonly aheadS?: number;
  /** When what it sees is received, in seconds after the session began, by the box's clock. */
  readonly received?: (atS: number) => number;
  readonly fromS?: number;
  readonly toS?: number;
}

/** @returns what is wrong, in seconds, with the clocks of cameras that see something twice a second. */
function found(cameras: Readonly<Record<string, Camera>>): Record<string, number> {
  const read = reader();
  const events = Object.entries(cameras).flatMap(([source, camera]) => {
    const { aheadS = 0, received = (atS) => atS + 0.2, fromS = 0, toS = 300 } = camera;
    return Array.from({ length: 2 * (toS - fromS) }, (_, i) => {
      const atS = fromS + i / 2;
      const eotMs = START_MS + (atS + aheadS) * S;
      return read({ source, type: 'BALL_HIT', eotMs, receivedMs: START_MS + received(atS) * S }, {});
    });
  });
  const tally = new SessionTally({ lines: 'none' });
  for (const event of events.sort((a, b) => a.eotMs - b.eotMs)) tally.add(event);
  const offsets = [...wrongClocks(tally.sources.entries())];
  return Object.fromEntries(offsets.map(([source, ms]) => [source, Math.round(ms / S)]));
}

t.test('a clock that is behind or ahead of one that is right is known, to what the network adds', (t) => {
  const offsets = found({
    right: {},
    behind: { aheadS: -252, fromS: 3, toS: 280 },
    decades: { aheadS: -1_000_000_000 },
    ahead: { aheadS: 61, fromS: 100, toS: 200 },
    'half a second': { aheadS: -0.5 },
    // It lost its network in the middle, and sent its backlog afterwards.
    'once away': { aheadS: -90, received: (atS) => (atS > 50 && atS < 200 ? 200 : atS) + 0.2 },
  });
  t.strictSame(offsets, { behind: -252, decades: -1_000_000_000, ahead: 61, 'once away': -90 });
  t.end();
});

t.test('what may have another reason than a clock is not corrected', (t) => {
  const imported = (atS: number) => 90_000 + atS / 1_000;
  for (const [why, cameras] of Object.entries({
    'all of it was imported': { one: { received: imported }, other: { received: imported, toS: 100 } },
    'imported with a clock that was wrong': {
      one: { received: imported },
      other: { received: imported, aheadS: -500 },
    },
    'a backlog was sent at the end': { right: {}, backlog: { received: () => 301 } },
    'a backlog was sent in another match': {
      right: {},
      backlog: { toS: 200, received: (atS: number) => 2_000 + atS / 100 },
    },
    'late with all that it sends': { right: {}, slow: { received: (atS: number) => atS + 60 } },
    'late, and it began before the others': {
      right: { fromS: 60 },
      slow: { received: (atS: number) => atS + 60 },
    },
    'no other is right': { one: { aheadS: -60 }, other: { aheadS: -60 }, third: { aheadS: 40 } },
    'too short': { right: {}, short: { aheadS: -252, toS: 20 } },
  }))
    t.strictSame(found(cameras), {}, why);
  t.end();
});

t.test('one event with a wrong eot does not move the others of its source', (t) => {
  const read = reader();
  const tally = new SessionTally({ lines: 'none' });
  for (let i = 0; i < 600; i++) {
    const eotMs = START_MS + i * S;
    for (const source of ['right', 'odd'])
      tally.add(read({ source, type: 'BALL_HIT', eotMs, receivedMs: eotMs + 200 }, {}));
  }
  const farMs = Date.UTC(2200, 0, 1);
  tally.add(read({ source: 'odd', type: 'BALL_HIT', eotMs: farMs, receivedMs: START_MS + 600 * S }, {}));
  t.equal(wrongClocks(tally.sources.entries()).size, 0);
  t.end();
});

import t from 'tap';
import {
  type Presence,
  type Rhythm,
  type SourceState,
  sourceState,
} from '../../src/telemetry/sourceState.ts';

/** Seconds since the daemon started, as in the cases. */
interface Told {
  readonly moments?: number;
  readonly first?: number;
  readonly last: number;
  readonly since?: number;
  readonly usual?: number;
}

/** A camera that has sent several times a second since the start, unless a case differs. */
function rhythm({ first = 0, last, since = first, usual = 0, moments = (last - first) * 4 }: Told): Rhythm {
  return {
    moments,
    firstAt: first * 1_000,
    lastAt: last * 1_000,
    runningSince: since * 1_000,
    usualPauseMs: usual * 1_000,
  };
}

interface Case {
  readonly when: string;
  readonly now: number;
  readonly source: Told;
  readonly others?: readonly Told[];
  readonly is: SourceState;
  readonly presence?: Partial<Presence>;
}

const CASES: readonly Case[] = [
  {
    when: 'nothing has come',
    now: 500,
    source: { moments: 0, last: 0 },
    others: [{ last: 500 }],
    is: 'unknown',
  },
  { when: 'it sends', now: 20, source: { last: 20 }, is: 'sending' },
  {
    when: 'it sent for 20 s and stopped two minutes ago, and its court plays on',
    now: 140,
    source: { last: 20 },
    others: [{ last: 140 }],
    is: 'silent',
  },
  {
    when: 'a court has changed ends for ten minutes, and the other one came back a minute before',
    now: 760,
    source: { last: 100 },
    others: [{ last: 760, since: 700 }],
    is: 'resting',
  },
  {
    when: 'it sends once a minute by nature, and one of its events was lost on the way',
    now: 720,
    source: { last: 600, moments: 11, usual: 75 },
    others: [{ last: 720 }],
    is: 'sending',
  },
  {
    when: 'too little has come from it to say how it sends',
    now: 900,
    source: { last: 2, moments: 8 },
    others: [{ last: 900 }],
    is: 'resting',
  },
  {
    when: 'the match has ended after it fell silent: nobody knows any more',
    now: 400,
    source: { last: 20 },
    others: [{ last: 200 }],
    is: 'resting',
  },
  {
    when: 'nothing has come since the start, and not for longer before than it rests',
    now: 1,
    source: { moments: 0, last: 0 },
    presence: { isOverdue: true },
    is: 'overdue',
  },
];

for (const { when, now, source, others = [], is, presence } of CASES) {
  const known = { isMissing: false, isIdle: false, isOverdue: false, ...presence };
  t.equal(sourceState(rhythm(source), others.map(rhythm), known, now * 1_000), is, `${is}: ${when}`);
}

import { Random } from '../../src/vendor/simulate/random.ts';

/** What happens in a history, besides time. Each is tried beside the others. */
export const KINDS = [
  'request',
  'resend',
  'revision',
  'prune',
  'erase',
  'rotate',
  'revoke',
  'tail',
  'backup',
  'ship',
  'clock',
  'full',
  'failing',
  'busy',
  'flip',
] as const;
export type Kind = (typeof KINDS)[number];

/** What is done before the daemon starts: by a command, or by who installs a courtd with another layout. */
export const BEFORE = ['nothing', 'tail', 'restore', 'restore', 'upgrade'] as const;
export type Before = (typeof BEFORE)[number];

/** How a process ends. At a call: in the middle of what the store was doing. */
export const ENDS = ['stop', 'kill', 'cut', 'killAtCall', 'cutAtCall'] as const;
export type End = (typeof ENDS)[number];

/** One thing that is begun. Its own seed, so that it stays as it is where others are dropped. */
export interface Operation {
  readonly kind: Kind;
  readonly seed: number;
}

/** A life of the process: from its start to its end. */
export interface Life {
  readonly before: Before;
  readonly seed: number;
  /** Whether the daemon starts after that. */
  readonly isStarted: boolean;
  readonly operations: readonly Operation[];
  readonly end: End;
  /** For an end at a call: at the how manyth. */
  readonly atCall: number;
  /** Whether only syncs are counted: before one, most is at stake. */
  readonly isAtSync: boolean;
  /** Whether the calls are counted from the start, so that it may end while it recovers. */
  readonly isEarly: boolean;
}

/** A history, as it is decided before it begins. */
export interface Plan {
  readonly seed: number;
  readonly lives: readonly Life[];
}

/** What can meet: two kinds that are under way at the same time, or a kind and the end of the process. */
export type Meeting = readonly [Kind, Kind | End];
export const MEETINGS: readonly Meeting[] = KINDS.flatMap((one, i) =>
  [...KINDS.slice(i), ...ENDS].map((other) => [one, other] as const),
);

/** @returns the seed of the nth history that is to bring these two together. */
export function seedOf(n: number, meeting: number): number {
  return n * MEETINGS.length + meeting;
}

/** @returns chance from a seed of up to 53 bits. @param what of it: each has its own. */
export function chanceOf(seed: number, what: number): Random {
  return new Random(Math.imul(Math.floor(seed / 2 ** 32) + what, 0x9e3779b1) ^ (seed % 2 ** 32));
}

/** The seed alone decides the history; its remainder by the number of meetings says which of them it is to bring about. */
export function makePlan(seed: number): Plan {
  const random = chanceOf(seed, 1);
  const [one, other] = MEETINGS[seed % MEETINGS.length]!;
  const favouredEnd = ENDS.find((end) => end === other);
  const favoured = KINDS.filter((kind) => kind === one || kind === other);
  // A bit that is flipped leaves little to hold: it has histories of its own.
  const isFlipped = one === 'flip' || other === 'flip';
  const usual = KINDS.filter((name) => isFlipped || name !== 'flip');
  const kind = () => {
    const chance = random.next();
    if (chance < 0.4) return 'request';
    return chance < 0.75 ? random.pick(favoured) : random.pick(usual);
  };
  const life = (_: unknown, i: number): Life => {
    const before = i > 0 && random.chance(0.5) ? random.pick(BEFORE) : 'nothing';
    const isAtSync = random.chance(0.5);
    return {
      before,
      seed: random.integer(0, 2 ** 31),
      // A reader alone must sync what it reads.
      isStarted: i === 0 || random.chance(before === 'tail' ? 0.5 : 0.9),
      operations: Array.from({ length: random.integer(4, 20) }, () => ({
        kind: kind(),
        seed: random.integer(0, 2 ** 31),
      })),
      end: favouredEnd !== undefined && random.chance(0.7) ? favouredEnd : random.pick(ENDS),
      atCall: random.integer(1, random.pick(isAtSync ? [5, 20] : [8, 40, 200])),
      isAtSync,
      isEarly: random.chance(0.3),
    };
  };
  return { seed, lives: Array.from({ length: random.integer(1, 3) }, life) };
}

import { Random } from '../../src/vendor/simulate/random.ts';

/** What happens in a history, besides time. Each is tried together with the others. */
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
  'copy',
  'clock',
  'full',
  'failing',
  'busy',
  'flip',
] as const;
export type Kind = (typeof KINDS)[number];

/**
 * What is done before the daemon starts, and has an effect on what comes then: by a command, or by who installs a courtd with another
 * layout. A rebuild has lost the box: its copy is all there is.
 */
export const COMMANDS = ['restore', 'upgrade', 'rebuild'] as const;
export type Command = (typeof COMMANDS)[number];
export type Before = Command | 'nothing' | 'tail';

/** Of these, what only reads. */
const READING: readonly Before[] = ['nothing', 'tail'];

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
  /** Where the box ships to: headquarters, or a directory. */
  readonly carries: 'ship' | 'copy';
  readonly lives: readonly Life[];
}

/** Who can meet another. */
export type Actor = Kind | Command;
/** What can meet: two that are under way at the same time, or one and the end of the process. */
export type Meeting = readonly [Actor, Actor | End];
/** What a history is to bring together. */
export type Near = readonly (Actor | End)[];
export const MEETINGS: readonly Meeting[] = [
  ...KINDS.flatMap((one, i) => [...KINDS.slice(i), ...ENDS].map((other) => [one, other] as const)),
  ...COMMANDS.flatMap((one) => [...KINDS, ...ENDS].map((other) => [one, other] as const)),
].filter((pair) => !pair.includes('ship') || !pair.some((one) => one === 'copy' || one === 'rebuild'));
/** What a command takes to have anything to do. */
const NEEDS: Partial<Readonly<Record<Actor | End, Kind>>> = { restore: 'backup', rebuild: 'copy' };

/** @returns the seed of the nth history that is to bring these two together. */
export function seedOf(n: number, meeting: number): number {
  return n * MEETINGS.length + meeting;
}

/** @returns chance from a seed of up to 53 bits. @param what of it: each has its own. */
export function chanceOf(seed: number, what: number): Random {
  return new Random(Math.imul(Math.floor(seed / 2 ** 32) + what, 0x9e3779b1) ^ (seed % 2 ** 32));
}

/**
 * The seed alone decides the history; its remainder by the number of meetings says which of them it is to bring about.
 * @param near what it is to bring together instead.
 */
export function makePlan(seed: number, near: Near = MEETINGS[seed % MEETINGS.length]!): Plan {
  const random = chanceOf(seed, 1);
  const favouredEnd = ENDS.find((end) => near.includes(end));
  const favouredCommand = COMMANDS.find((command) => near.includes(command));
  const favoured = KINDS.filter((kind) => near.some((one) => one === kind || NEEDS[one] === kind));
  // A box ships to headquarters, or to a directory.
  const carries =
    favoured.find((kind) => kind === 'ship' || kind === 'copy') ?? random.pick(['ship', 'copy'] as const);
  // A bit that is flipped leaves little to hold: it has histories of its own.
  const isUsual: Partial<Record<Kind, boolean>> = {
    flip: near.includes('flip'),
    ship: carries === 'ship',
    copy: carries === 'copy',
  };
  const usual = KINDS.filter((name) => isUsual[name] ?? true);
  const befores = ['nothing', 'tail', 'restore', 'restore', 'upgrade', 'rebuild'] as const;
  const kind = () => {
    const chance = random.next();
    if (chance < 0.4) return 'request';
    return chance < 0.75 ? random.pick(favoured.length > 0 ? favoured : usual) : random.pick(usual);
  };
  const before = (): Before => {
    const isFavoured = favouredCommand !== undefined && random.chance(0.7);
    if (isFavoured) return favouredCommand;
    return random.chance(0.5) ? random.pick(befores) : 'nothing';
  };
  const life = (_: unknown, i: number): Life => {
    // What is most delicate: who opens the database after a crash, and is cut short in it.
    const isRecovery = i > 0 && random.chance(0.25);
    const first = i === 0 ? 'nothing' : isRecovery ? random.pick(READING) : before();
    const isAtSync = random.chance(0.5);
    return {
      before: first,
      seed: random.integer(0, 2 ** 31),
      // A reader alone must sync what it reads.
      isStarted: i === 0 || random.chance(first === 'tail' ? 0.5 : 0.9),
      operations: Array.from({ length: random.integer(4, 20) }, () => ({
        kind: kind(),
        seed: random.integer(0, 2 ** 31),
      })),
      end: isRecovery
        ? 'cutAtCall'
        : favouredEnd !== undefined && random.chance(0.7)
          ? favouredEnd
          : random.pick(ENDS),
      atCall: random.integer(1, random.pick(isAtSync ? [5, 20] : [8, 40, 200])),
      isAtSync,
      isEarly: isRecovery || random.chance(0.3),
    };
  };
  const least = favouredCommand === undefined ? 1 : 2;
  return { seed, carries, lives: Array.from({ length: random.integer(least, 3) }, life) };
}

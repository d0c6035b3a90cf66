import { Random } from '../../src/vendor/simulate/random.ts';

/** What happens in a history, besides time. */
export const KINDS = [
  'request',
  'resend',
  'revision',
  'prune',
  'erase',
  'tail',
  'backup',
  'copy',
  'clock',
  'full',
  'failing',
  'busy',
] as const;
export type Kind = (typeof KINDS)[number];

/** Commands before the daemon starts that have an effect on what comes then. A rebuild has lost the box: its copy is all there is. */
const COMMANDS = ['restore', 'rebuild'] as const;
export type Before = (typeof COMMANDS)[number] | 'nothing' | 'tail';

/** Of these, what only reads. */
const READING: readonly Before[] = ['nothing', 'tail'];

/** How a process ends. At a call: in the middle of what the store was doing. */
const ENDS = ['stop', 'kill', 'cut', 'killAtCall', 'cutAtCall'] as const;

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
  readonly end: (typeof ENDS)[number];
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

const ACTORS = [...KINDS, ...COMMANDS, ...ENDS];
/** What a history brings together more often than others. */
export type Near = readonly (typeof ACTORS)[number][];
/** What a command takes to have anything to do. */
const NEEDS: Partial<Readonly<Record<Near[number], Kind>>> = { restore: 'backup', rebuild: 'copy' };

/** @returns chance from a seed. @param what of it: each has its own. */
export function chanceOf(seed: number, what: number): Random {
  return new Random(Math.imul(what, 0x9e3779b1) ^ seed);
}

/** The seed alone decides the history, which brings two things together. @param chosen what it is to bring together instead. */
export function makePlan(seed: number, chosen?: Near): Plan {
  const random = chanceOf(seed, 1);
  const near = chosen ?? [random.pick(ACTORS), random.pick(ACTORS)];
  const favouredEnd = ENDS.find((end) => near.includes(end));
  const favouredCommand = COMMANDS.find((command) => near.includes(command));
  const favoured = KINDS.filter((kind) => near.some((one) => one === kind || NEEDS[one] === kind));
  const befores = ['nothing', 'tail', 'restore', 'restore', 'rebuild'] as const;
  const kind = () => {
    const chance = random.next();
    if (chance < 0.4) return 'request';
    return random.pick(chance < 0.75 && favoured.length > 0 ? favoured : KINDS);
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
    const usualEnd = favouredEnd !== undefined && random.chance(0.7) ? favouredEnd : random.pick(ENDS);
    return {
      before: first,
      seed: random.integer(0, 2 ** 31),
      // A reader alone must sync what it reads.
      isStarted: i === 0 || random.chance(first === 'tail' ? 0.5 : 0.9),
      operations: Array.from({ length: random.integer(4, 20) }, () => ({
        kind: kind(),
        seed: random.integer(0, 2 ** 31),
      })),
      end: isRecovery ? 'cutAtCall' : usualEnd,
      atCall: random.integer(1, random.pick(isAtSync ? [5, 20] : [8, 40, 200])),
      isAtSync,
      isEarly: isRecovery || random.chance(0.3),
    };
  };
  const least = favouredCommand === undefined ? 1 : 2;
  return { seed, lives: Array.from({ length: random.integer(least, 3) }, life) };
}

import type { LastingProblem } from '../finding.ts';
import { AlertBook, type Change, keyOf, type Look } from './alertBook.ts';
import { type AlertMessage, alertMessage } from './alertMessage.ts';
import type { AlertTarget } from './alertTargets.ts';

/** The moment of a look or a message. */
export interface Moment {
  /** Of a clock that never jumps, in milliseconds. */
  readonly ms: number;
  /** Since 1970-01-01T00:00:00Z, in milliseconds, by the clock of the box. */
  readonly atMs: number;
}

/** What is kept of a target over a restart. */
interface Told {
  /** What it knows of, or will as soon as it takes the message that is due. */
  readonly problems: readonly LastingProblem[];
  /** What it has not taken yet. */
  readonly due: Change;
  /** When it took the last message, in milliseconds since 1970-01-01T00:00:00Z; null: never. */
  readonly at: number | null;
}

export type ToldByTarget = Readonly<Partial<Record<AlertTarget['name'], Told>>>;

interface AlerterOptions {
  readonly box: string;
  readonly targets: readonly AlertTarget[];
  readonly told: ToldByTarget;
  /** Keeps what the targets have been told: once it has returned, it is on disk. */
  readonly keep: (told: ToldByTarget) => void;
  readonly say: (sentence: string) => void;
  /** For a single look: whatever is there is told at once. */
  readonly isOnce: boolean;
}

/** At most one message in this time; what changes meanwhile is told together. */
const PAUSE_MS = 5 * 60_000;
/** After a failure, doubling. */
const [RETRY_MS, RETRY_MOST_MS] = [5_000, 5 * 60_000];

/**
 * Tells targets what has changed since each was last told, each by itself: a message is tried again until it is taken, and what
 * changes meanwhile joins it. One that was taken just before a kill -9 may come twice.
 */
export class Alerter {
  readonly #options: AlerterOptions;
  readonly #book: AlertBook;
  readonly #listeners: readonly Listener[];
  #state: AlertMessage['state'] = 'ok';

  constructor(options: AlerterOptions) {
    this.#options = options;
    this.#book = new AlertBook(options.isOnce ? 0 : undefined);
    this.#listeners = options.targets.map((target) => new Listener(target, options.told[target.name]));
  }

  look(look: Look, { ms }: Moment): void {
    const isAnswered = !('unanswered' in look);
    this.#state = isAnswered ? look.state : look.unanswered.code === 'daemon_stopped' ? 'stopped' : 'failing';
    const upMs = isAnswered ? look.up_s * 1_000 : 0;
    const found = isAnswered ? look.problems : [look.unanswered];
    const known = this.#listeners.flatMap((listener) => [...listener.known.values()]);
    this.#book.look(look, known, ms, upMs);
    const hasChanged = this.#listeners.map((one) => one.note(this.#book.changeSince(one.known, ms), found));
    if (hasChanged.some(Boolean)) this.#keep();
  }

  /** Sends what is due. @returns whether every target has taken what there was for it. */
  async deliver(now: Moment): Promise<boolean> {
    const { isOnce } = this.#options;
    const due = this.#listeners.filter((one) => one.hasNews && (isOnce || one.isDue(now)));
    await Promise.all(due.map((listener) => this.#tell(listener, now)));
    return this.#listeners.every((one) => !one.hasNews);
  }

  async #tell(listener: Listener, now: Moment): Promise<void> {
    const { box, say } = this.#options;
    const change = listener.news;
    const beganMs = performance.now();
    const fault = await listener.target.send(alertMessage(box, this.#state, change, now.atMs));
    const name = NAMES[listener.target.name];
    if (fault === undefined) {
      listener.taken(now);
      this.#keep();
      say(`${name} has been told: ${change.new.length} new, ${change.solved.length} solved.`);
    } else {
      // Counted from the failure, which takes a while where nobody answers.
      listener.failed(now.ms + performance.now() - beganMs);
      say(`${name} did not take the message: ${fault}. It is tried again until it does.`);
    }
  }

  /** What is known of a target that is not set now stays. */
  #keep(): void {
    const told = Object.fromEntries(this.#listeners.map((one) => [one.target.name, one.told]));
    this.#options.keep({ ...this.#options.told, ...told });
  }
}

export const NAMES = { url: 'COURTD_ALERT_URL', command: 'COURTD_ALERT_COMMAND' } as const;

/** A target, and what it knows. */
class Listener {
  readonly target: AlertTarget;
  readonly known: Map<string, LastingProblem>;
  readonly #new: Map<string, LastingProblem>;
  readonly #solved: Map<string, LastingProblem>;
  #takenAtMs: number | null;
  #failures = 0;
  #nextTryMs = Number.NEGATIVE_INFINITY;

  constructor(target: AlertTarget, { problems = [], due, at = null }: Partial<Told> = {}) {
    this.target = target;
    this.known = byKey(problems);
    this.#new = byKey(due?.new ?? []);
    this.#solved = byKey(due?.solved ?? []);
    this.#takenAtMs = at;
  }

  get hasNews(): boolean {
    return this.#new.size + this.#solved.size > 0;
  }

  get news(): Change {
    return { new: [...this.#new.values()], solved: [...this.#solved.values()] };
  }

  get told(): Told {
    return { problems: [...this.known.values()], due: this.news, at: this.#takenAtMs };
  }

  /**
   * What is back before anybody was told that it is solved is as it was told.
   * @param found what there is now: a message that waits says how it is when it leaves.
   * @returns whether there is anything in the change.
   */
  note(change: Change, found: readonly LastingProblem[]): boolean {
    for (const problem of change.new) {
      const key = keyOf(problem);
      this.known.set(key, problem);
      if (!this.#solved.delete(key)) this.#new.set(key, problem);
    }
    for (const problem of found) if (this.#new.has(keyOf(problem))) this.#new.set(keyOf(problem), problem);
    for (const problem of change.solved) {
      this.known.delete(keyOf(problem));
      this.#solved.set(keyOf(problem), problem);
    }
    return change.new.length + change.solved.length > 0;
  }

  /** A clock that was set back does not hold a message up. */
  isDue({ ms, atMs }: Moment): boolean {
    const sinceMs = this.#takenAtMs === null ? PAUSE_MS : atMs - this.#takenAtMs;
    return ms >= this.#nextTryMs && (sinceMs < 0 || sinceMs >= PAUSE_MS);
  }

  taken({ atMs }: Moment): void {
    this.#new.clear();
    this.#solved.clear();
    this.#takenAtMs = atMs;
    this.#failures = 0;
  }

  failed(nowMs: number): void {
    this.#nextTryMs = nowMs + Math.min(RETRY_MOST_MS, RETRY_MS * 2 ** this.#failures++);
  }
}

function byKey(problems: readonly LastingProblem[]): Map<string, LastingProblem> {
  return new Map(problems.map((problem) => [keyOf(problem), problem]));
}

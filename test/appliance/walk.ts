/**
 * A step that takes longer than this hangs. Counted in ticks of the event loop: a virtual machine may stop for a
 * minute as a whole, and then nothing hangs.
 */
const STEP_TICKS = 360;
const TICK_MS = 1_000;

/** What was seen is not what was promised. */
export class Broken extends Error {}

/** @throws {Broken} if it does not hold. */
export function expect(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new Broken(otherwise);
}

/** The steps of one walk: each prints a line with what it saw and how long it took. */
export class Walk {
  readonly #name: string;
  #steps = 0;

  constructor(name: string) {
    this.#name = name;
  }

  get steps(): number {
    return this.#steps;
  }

  /**
   * @param work returns what it saw, in a few words.
   * @throws what `work` throws, with the step's title before it.
   */
  async step(title: string, work: () => Promise<string>): Promise<void> {
    const startedAt = performance.now();
    try {
      const saw = await withinTime(work());
      this.#print('ok', startedAt, `${title}: ${saw}`);
      this.#steps++;
    } catch (error) {
      const why = error instanceof Broken ? error.message : ((error as Error).stack ?? String(error));
      this.#print('FAILED', startedAt, `${title}: ${why}`);
      throw error;
    }
  }

  #print(verdict: string, startedAt: number, text: string): void {
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1).padStart(5);
    console.log(`${this.#name} ${verdict} ${seconds} s  ${text}`);
  }
}

async function withinTime<Result>(work: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    let ticks = 0;
    timer = setInterval(() => {
      if (++ticks === STEP_TICKS) reject(new Broken(`not done after ${(STEP_TICKS * TICK_MS) / 1000} s`));
    }, TICK_MS);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearInterval(timer);
  }
}

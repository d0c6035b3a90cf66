import type { Look } from './alertBook.ts';
import type { Moment } from './alerter.ts';
import { ping } from './alertTargets.ts';

const PING_MS = 5 * 60_000;

/** A dead-man's switch: whoever does not hear of the box any more knows that it is gone. */
export class Pinger {
  readonly #url: string | undefined;
  readonly #say: (sentence: string) => void;
  #lastMs = Number.NEGATIVE_INFINITY;
  #hasFailed = false;

  constructor(url: string | undefined, say: (sentence: string) => void) {
    this.#url = url;
    this.#say = say;
  }

  /** @returns whether somebody heard it, where it was time to. */
  async ping(look: Look | null, { ms }: Moment): Promise<boolean> {
    const isWell = look !== null && !('unanswered' in look) && look.state !== 'failing';
    if (this.#url === undefined || !isWell || ms - this.#lastMs < PING_MS) return true;
    const fault = await ping(this.#url);
    // One that was not heard is tried again at the next look.
    if (fault === undefined) this.#lastMs = ms;
    if (fault !== undefined && !this.#hasFailed) {
      this.#say(`COURTD_PING_URL does not hear this box: ${fault}. It is tried again until it does.`);
    }
    this.#hasFailed = fault !== undefined;
    return fault === undefined;
  }
}

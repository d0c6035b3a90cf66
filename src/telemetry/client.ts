/** How long an expected client may send nothing; empty arrays further apart than that are no rhythm. */
const EXPECTED_MS = 180_000;
/** After so many empty arrays a client is expected to continue. */
const BEATS = 3;

/** A sender: an address, which several sources may share. All times are of a clock that never jumps. */
export class Client {
  readonly address: string;
  /** When the last request came, even a rejected one: it shows that the client is alive. */
  heardAt: number;
  /** When it last got a 202. */
  acceptedAt = Number.NEGATIVE_INFINITY;
  /** When it last sent an empty array, which a camera does each minute while it has nothing to send. */
  beatAt = Number.NEGATIVE_INFINITY;
  /** Whether it is to be missed when neither events nor empty arrays come from it. */
  isExpected = false;
  #beats = 0;

  constructor(address: string, now: number) {
    this.address = address;
    this.heardAt = now;
  }

  /** Call it for each of its requests that was answered 202. */
  accepted(isEmpty: boolean, now: number): void {
    this.heardAt = this.acceptedAt = now;
    if (!isEmpty) return;
    this.#beats = now - this.beatAt <= EXPECTED_MS ? this.#beats + 1 : 1;
    this.beatAt = now;
    if (this.#beats >= BEATS) this.isExpected = true;
  }

  /** Whether neither events nor empty arrays have come, which both were expected. */
  isMissing(now: number): boolean {
    return this.isExpected && now - this.heardAt > EXPECTED_MS;
  }

  /** Whether it is alive, with nothing to send. */
  isIdle(now: number): boolean {
    return now - this.beatAt <= EXPECTED_MS;
  }
}

import { type Actor, type End, MEETINGS } from './plan.ts';

/** How often two things have met. */
export class Pairs {
  readonly #met = new Map<string, number>(MEETINGS.map((pair) => [nameOf(...pair), 0]));

  met(one: Actor, other: Actor | End): void {
    this.#add(nameOf(one, other), 1);
  }

  add(others: Readonly<Record<string, number>>): void {
    for (const [pair, count] of Object.entries(others)) this.#add(pair, count);
  }

  #add(pair: string, count: number): void {
    this.#met.set(pair, (this.#met.get(pair) ?? 0) + count);
  }

  get counts(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#met);
  }

  /** @returns which of MEETINGS has been least often. */
  get rarest(): number {
    const counts = [...this.#met.values()];
    return counts.indexOf(Math.min(...counts));
  }
}

const PLACES = new Map(MEETINGS.flat().map((name, i) => [name, i]));

function nameOf(one: Actor | End, other: Actor | End): string {
  return PLACES.get(one)! <= PLACES.get(other)! ? `${one}+${other}` : `${other}+${one}`;
}

import { eachInfinite } from './json.ts';
import { LISTED_FAULTS } from './limits.ts';

/** What is checked of a value, if that is too large to be there at once. */
export interface Checked {
  /**
   * The value itself, or of a large list an object with what is checked of it: the members that are known by name, and
   * the numbers too large for a double where they stand, as many as an answer lists.
   */
  readonly sent: unknown;
  /** Such numbers that are not in `sent`. */
  readonly unlisted: number;
  /** Members of a large array. */
  readonly length?: number;
}

/** Draws what is checked of a large list while its members come by, piece after piece. */
export class Sketch implements Checked {
  // No prototype, or a field called __proto__ would vanish into it.
  readonly sent: Record<string, unknown> = Object.create(null);
  readonly #known: ReadonlySet<string>;
  #length = 0;
  #listed = 0;
  #unlisted = 0;

  /** @param known the names of members that are kept as values. */
  constructor(known: ReadonlySet<string> = new Set()) {
    this.#known = known;
  }

  get length(): number {
    return this.#length;
  }

  get unlisted(): number {
    return this.#unlisted;
  }

  /** @param members that were parsed together. @param inexact whether there may be a number too large among them. */
  addAll(members: object, inexact: boolean): void {
    if (!Array.isArray(members)) this.#forget(members);
    for (const name of this.#known) {
      if (Object.hasOwn(members, name)) this.sent[name] = (members as Record<string, unknown>)[name];
    }
    if (inexact) this.#addInfinite(members);
    if (Array.isArray(members)) this.#length += members.length;
  }

  /** @param name of one large member; undefined in an array. */
  add(name: string | undefined, member: Checked): void {
    const key = name ?? `${this.#length++}`;
    this.#unlisted += member.unlisted;
    delete this.sent[key];
    if (this.#known.has(key)) this.sent[key] = sentOf(member);
    // A number may be as long as a text.
    else if (typeof member.sent !== 'string') this.sent[key] = member.sent;
  }

  /** Of duplicate members the last one wins. */
  #forget(later: object): void {
    for (const name of Object.keys(this.sent)) {
      if (Object.hasOwn(later, name)) delete this.sent[name];
    }
  }

  #addInfinite(members: object): void {
    const isArray = Array.isArray(members);
    eachInfinite(members, ([first = '', ...rest]) => {
      if (this.#known.has(first)) return true;
      if (this.#listed === LISTED_FAULTS) this.#unlisted++;
      else this.#put([isArray ? `${this.#length + Number(first)}` : first, ...rest]);
      return true;
    });
  }

  #put(names: string[]): void {
    this.#listed++;
    const last = names.pop()!;
    let at = this.sent;
    for (const name of names) {
      if (typeof at[name] !== 'object') at[name] = Object.create(null);
      at = at[name] as Record<string, unknown>;
    }
    at[last] = Number.POSITIVE_INFINITY;
  }
}

/** @returns what the schema is asked about: for a large array one that is as long. */
export function sentOf({ sent, length }: Checked): unknown {
  return length === undefined ? sent : Object.assign([], sent, { length });
}

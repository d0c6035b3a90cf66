import type { Child } from './child.ts';
import type { Wording } from './traffic.ts';

/** A server that takes part. */
export interface Contender {
  /** For `--only`. */
  readonly name: string;
  /** For the table. */
  readonly title: string;
  /** @returns why it cannot take part on this machine; undefined where it can. */
  missing?(): string | undefined;
  /** @param directory empty, and its own. */
  start(directory: string): Promise<Running>;
}

export interface Running {
  readonly child: Child;
  readonly target: Target;
  /** @returns how many events it holds; absent where it stores nothing. */
  stored?(): Promise<number>;
}

/** Where and how to send it events. */
export interface Target {
  readonly port: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly wording: Wording;
}

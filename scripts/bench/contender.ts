import type { Child } from './child.ts';
import type { Wording } from './traffic.ts';

/** A server that takes part. */
export interface Contender {
  /** For `--only`. */
  readonly name: string;
  /** For the table. */
  readonly title: string;
  /** How it is built, as a clause. */
  readonly built?: string;
  /** What of an event it checks, and what it does not do that courtd does. */
  readonly checks?: string;
  /** @returns why it cannot take part on this machine; undefined where it can. */
  missing?(): string | undefined;
  /**
   * @param directory its own; empty, or as it left it.
   * @param under the program that starts its programs, with its arguments, such as `env LD_PRELOAD=...`.
   */
  start(directory: string, under?: readonly string[]): Promise<Running>;
}

export interface Running {
  /** The process that answers the requests. */
  readonly child: Child;
  /** What it depends on, such as a database server. */
  readonly servers?: readonly Child[];
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

/** @returns all its processes but their children. */
export function childrenOf({ child, servers = [] }: Running): readonly Child[] {
  return [child, ...servers];
}

/** Stops it in good order: what it depends on last. */
export async function stopRunning({ child, servers = [] }: Running): Promise<void> {
  await child.stop();
  // For PostgreSQL this is a fast shutdown; SIGTERM would wait for its clients.
  for (const server of servers) await server.stop('SIGINT');
}

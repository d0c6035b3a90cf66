import { setTimeout as sleep } from 'node:timers/promises';
import { JetStreamApiError } from '@nats-io/jetstream';
import { PermissionViolationError } from '@nats-io/transport-node';
import { OperatorError } from '../../base/operatorError.ts';

/** How long to wait for an election, or for a third server to start. */
const WAIT_MS = 60_000;
const RETRY_MS = 500;

/** Error codes of JetStream (errors.json of nats-server). */
export const NO_STREAM = 10059;
export const NOT_CLUSTERED = 10074;
export const NO_PEERS = 10005;
/** No leader yet, no quorum, an incomplete cluster. */
const FOR_NOW = [10004, 10008, 10009];
const NOT_ENABLED = [10039, 10076];

/** @returns JetStream's code of an error; undefined where it is another one. */
export function codeOf(error: unknown): number | undefined {
  return error instanceof JetStreamApiError ? error.code : undefined;
}

/** Retries for up to a minute: servers that are electing a leader do not answer, or answer with an error. */
export class Retries {
  readonly #end = performance.now() + WAIT_MS;
  readonly #tell: (sentence: string) => void;
  #told = false;

  /** @param tell called once, where it has to wait. */
  constructor(tell: (sentence: string) => void = () => {}) {
    this.#tell = tell;
  }

  /**
   * @throws {PermissionViolationError} where this user may not ask.
   * @throws {OperatorError} where the servers refuse, or do not answer in time.
   */
  async until<Result>(work: () => Promise<Result>): Promise<Result> {
    for (;;) {
      try {
        return await work();
      } catch (error) {
        if (error instanceof OperatorError || refusalIn(error) !== undefined) throw error;
        if (!passes(error) || performance.now() > this.#end) throw new OperatorError(sentenceOf(error));
      }
      if (!this.#told) this.#tell('The servers are not ready yet: waiting for them.');
      this.#told = true;
      await sleep(RETRY_MS);
    }
  }
}

/** @returns what the servers do not let this user do; undefined where an error is another one. */
export function refusalIn(error: unknown): PermissionViolationError | undefined {
  return [error, (error as Error).cause].find((one) => one instanceof PermissionViolationError);
}

/** Whether the error may go away. During an election, requests may stay unanswered, too. */
function passes(error: unknown): boolean {
  const code = codeOf(error);
  return code === undefined || code === NO_PEERS || FOR_NOW.includes(code);
}

function sentenceOf(error: unknown): string {
  const code = codeOf(error);
  const { message } = error as Error;
  if (code === NO_PEERS)
    return `There are not three servers that can take a stream (${message}). Check that all of them are running with JetStream and can reach one another.`;
  if (code === NO_STREAM) return 'The streams of a fleet are not here: "courtd fleet init" makes them.';
  if (code !== undefined && NOT_ENABLED.includes(code))
    return 'JetStream is not enabled for this account: the guide FLEET.md has a configuration.';
  if (code !== undefined && !FOR_NOW.includes(code)) return `The servers refuse: ${message}.`;
  return (
    `JetStream did not answer within ${WAIT_MS / 1000} s (${message}). Check that it is enabled, and that more than ` +
    'half of the servers run and can reach one another.'
  );
}

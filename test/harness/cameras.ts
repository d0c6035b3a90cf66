import { setTimeout as sleep } from 'node:timers/promises';
import { FULL_RETRY_MS } from '../../src/base/limits.ts';
import type { WireEvent } from '../../src/protocol/eventSchema.ts';
import type { Cleanup, Daemon } from './daemon.ts';
import { events } from './events.ts';

/** Cameras that send without pause, unless told otherwise, and again what was not acknowledged, as the README tells them to. */

const RESEND_MS = 20;

export class Cameras {
  /** The event_id of everything that was answered 202. */
  readonly acknowledged: string[] = [];
  /** How often each other answer came: its code, or "gone" where there was none. */
  readonly refused = new Map<string, number>();
  #daemon: Daemon;
  readonly #batch: number;
  readonly #pauseMs: number;
  readonly #fresh: (count: number) => WireEvent[];
  readonly #senders: Promise<void>[];
  #isStopping = false;
  #isGivenUp = false;
  #waiting: { readonly count: number; readonly reached: () => void }[] = [];

  constructor(
    t: Cleanup,
    daemon: Daemon,
    {
      cameras = 8,
      batch = 20,
      pauseMs = 0,
      fresh = events,
    }: {
      cameras?: number;
      batch?: number;
      /** After each acknowledgement. */
      pauseMs?: number;
      fresh?: (count: number) => WireEvent[];
    } = {},
  ) {
    this.#daemon = daemon;
    this.#batch = batch;
    this.#pauseMs = pauseMs;
    this.#fresh = fresh;
    this.#senders = Array.from({ length: cameras }, () => this.#sendOn());
    t.teardown(() => {
      this.#isStopping = true;
      this.#isGivenUp = true;
    });
  }

  /** From now on they send to this daemon. */
  follow(daemon: Daemon): void {
    this.#daemon = daemon;
  }

  /** Resolves when this many more events have been acknowledged. */
  more(count: number): Promise<void> {
    return new Promise((reached) => {
      this.#waiting.push({ count: this.acknowledged.length + count, reached });
    });
  }

  /** Ends them once what each of them has begun to send is acknowledged. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.all(this.#senders);
  }

  async #sendOn(): Promise<void> {
    while (!this.#isStopping) {
      const batch = this.#fresh(this.#batch);
      while (!(await this.#isAcknowledged(batch)) && !this.#isGivenUp) await sleep(RESEND_MS);
      this.acknowledged.push(...batch.map(({ event_id }) => event_id));
      for (const { count, reached } of this.#waiting) if (this.acknowledged.length >= count) reached();
      if (this.#pauseMs > 0) await sleep(this.#pauseMs);
    }
  }

  async #isAcknowledged(batch: readonly unknown[]): Promise<boolean> {
    let code = 'gone';
    try {
      const answer = await this.#daemon.post(batch);
      const body = (await answer.json()) as { code: string; accepted: number; duplicates: number };
      if (answer.status === 202 && body.accepted + body.duplicates === batch.length) return true;
      code = body.code;
    } catch {
      // No answer: the events may be stored or not.
    }
    this.refused.set(code, (this.refused.get(code) ?? 0) + 1);
    return false;
  }
}

/** @returns the event_ids that an export of the session has, in the order of `acknowledged` when both are sorted. */
export async function storedIds(daemon: Daemon, session = 'session-1'): Promise<string[]> {
  const lines = await daemon.exported(session);
  return lines.map((line) => JSON.parse(line).event_id).sort();
}

/** Fills the disk through the front door, to the last small request. */
export async function fillWithEvents(daemon: Daemon): Promise<void> {
  for (const size of [500, 20, 1]) {
    for (let refused = 0; refused < 3; ) {
      const { status } = await daemon.post(events(size, { note: 'x'.repeat(200) }));
      if (status === 202) refused = 0;
      else refused++;
      if (refused > 0) await sleep(FULL_RETRY_MS / 2);
    }
  }
}

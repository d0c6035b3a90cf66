import { setTimeout as sleep } from 'node:timers/promises';
import type { BoxClient } from './boxClient.ts';
import type { History, Sent } from './history.ts';
import type { Traffic } from './traffic.ts';

const SENDERS = 8;
const AGAIN_MS = 10;
const LOOK_MS = 2;

interface Fields {
  readonly history: History;
  readonly traffic: Traffic;
  /** @returns the entries of the write log by now: the clock of the history. */
  readonly clock: () => number;
  /** How many they make up before they stop. */
  readonly requests: number;
  readonly token: string;
  /** After each answer. */
  readonly pauseMs?: number;
}

/** Several senders at once: each sends a request until it has its 202, whatever becomes of courtd meanwhile. */
export class Senders {
  /** courtd, as long as it lives. */
  target: BoxClient | undefined;
  token: string;
  readonly #history: History;
  readonly #traffic: Traffic;
  readonly #clock: () => number;
  readonly #pauseMs: number;
  /** How many requests there are when they stop. */
  readonly #enough: number;
  readonly #before: number;
  #isOver = false;

  constructor({ history, traffic, clock, requests, token, pauseMs = 0 }: Fields) {
    this.#history = history;
    this.#traffic = traffic;
    this.#clock = clock;
    this.#pauseMs = pauseMs;
    this.token = token;
    this.#before = history.requests.length;
    this.#enough = this.#before + requests;
  }

  /** @returns when all of their requests have been answered. */
  async run(): Promise<void> {
    await Promise.all(Array.from({ length: SENDERS }, () => this.#sender()));
    this.#isOver = true;
  }

  /** They finish what they have begun. */
  stop(): void {
    this.#isOver = true;
  }

  /** @returns when that part of the requests has been sent. */
  async sent(part: number): Promise<void> {
    const enough = this.#before + (this.#enough - this.#before) * part;
    while (this.#history.requests.length < enough && !this.#isOver) await sleep(LOOK_MS);
  }

  async #sender(): Promise<void> {
    while (this.#history.requests.length < this.#enough && !this.#isOver) {
      const { sent, copies } = this.#traffic.next();
      await Promise.all(Array.from({ length: copies }, () => this.#deliver(sent)));
      if (this.#pauseMs > 0) await sleep(this.#pauseMs);
    }
  }

  async #deliver(sent: Sent): Promise<void> {
    for (;;) {
      const wasAnswered = sent.answeredAt !== undefined;
      try {
        const { status, accepted, duplicates } = await this.target!.post(this.token, sent.body, (status) => {
          this.#note(sent);
          if (status === 202) sent.answeredAt ??= this.#clock();
        });
        if (status === 202) return this.#judge(sent, wasAnswered, accepted, duplicates);
        if (status !== 503) this.#history.faults.push(`a valid request was answered ${status}`);
      } catch (error) {
        // Killed under it: whether the events are stored is not known. Refused: they cannot be.
        if ((error as NodeJS.ErrnoException).code !== 'ECONNREFUSED') this.#note(sent);
      }
      await sleep(AGAIN_MS);
    }
  }

  #note(sent: Sent): void {
    if (sent.hasArrived) this.#history.resends++;
    sent.hasArrived = true;
  }

  #judge(sent: Sent, wasAnswered: boolean, accepted: number, duplicates: number): void {
    const { faults } = this.#history;
    if (accepted + duplicates !== sent.events.length) {
      faults.push(
        `${sent.events.length} events were answered ${accepted} accepted, ${duplicates} duplicates`,
      );
    }
    const pruned = sent.events.filter(({ key }) => this.#history.mayBePruned(key, 0, this.#clock()));
    if (wasAnswered && accepted > pruned.length)
      faults.push(`${accepted} acknowledged events were accepted once more, ${pruned.length} of them pruned`);
  }
}

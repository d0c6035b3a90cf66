import { RETRY_AFTER_S, SERVED_REQUESTS } from '../protocol/limits.ts';
import { retryLater } from '../protocol/problems.ts';

/** Requests being served, by client address: when there are many, each client may have its part of them and no more. */
export class FairShare {
  readonly #byClient = new Map<string, number>();
  #total = 0;

  /**
   * Counts a request in; `leave` counts it out. A client that has none is always let in.
   * @throws {Problem} 503 where much is waiting already and this client has its share of it.
   */
  enter(client: string): void {
    const own = this.#byClient.get(client) ?? 0;
    if (own > 0 && this.#total >= SERVED_REQUESTS && own >= SERVED_REQUESTS / this.#byClient.size) {
      const sentence = `${own} requests from ${client} are waiting already. Nothing was stored; send the same request again.`;
      throw retryLater('overloaded', sentence, RETRY_AFTER_S.overloaded);
    }
    this.#byClient.set(client, own + 1);
    this.#total++;
  }

  leave(client: string): void {
    const own = this.#byClient.get(client) ?? 0;
    if (own <= 1) this.#byClient.delete(client);
    else this.#byClient.set(client, own - 1);
    this.#total--;
  }
}

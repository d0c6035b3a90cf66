/** What waits, by client: one of each client in turn, so that who brings much does not hold up who brings little. */
export class FairQueue<Item> {
  /** The client whose turn it is stands first. */
  readonly #byClient = new Map<string, Item[]>();

  get isEmpty(): boolean {
    return this.#byClient.size === 0;
  }

  add(client: string, item: Item): void {
    const own = this.#byClient.get(client);
    if (own === undefined) this.#byClient.set(client, [item]);
    else own.push(item);
  }

  /** @returns the next one, and forgets it. */
  take(): Item | undefined {
    for (const [client, own] of this.#byClient) {
      const item = own.shift();
      this.#byClient.delete(client);
      if (own.length > 0) this.#byClient.set(client, own);
      return item;
    }
    return undefined;
  }
}

/** Caches the text of the last value: most events have the names and the time of receipt of the event before. */
export class LastText<Value> {
  readonly #toText: (value: Value) => string;
  #value: Value | undefined;
  #text = '';

  constructor(toText: (value: Value) => string) {
    this.#toText = toText;
  }

  text(value: Value): string {
    if (value !== this.#value) {
      this.#value = value;
      this.#text = this.#toText(value);
    }
    return this.#text;
  }
}

import readline from 'node:readline';

/** @returns the values of NDJSON. */
// biome-ignore lint/suspicious/noExplicitAny: as of JSON.parse
export function jsonLines(text: string): any[] {
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}

/** The lines of a stream, as they come. */
export class Lines<Line> {
  readonly all: Line[] = [];
  #isOver = false;
  #more = Promise.withResolvers<void>();

  constructor(stream: NodeJS.ReadableStream, parse: (text: string) => Line) {
    const reader = readline.createInterface(stream);
    reader.on('line', (text) => {
      this.all.push(parse(text));
      this.#tell();
    });
    reader.once('close', () => {
      this.#isOver = true;
      this.#tell();
    });
  }

  /**
   * @returns the first that fits, from the given place on, as soon as it is there.
   * @param wanted what it is, for the error.
   * @throws {Error} when the stream ends without it.
   */
  async find(fits: (line: Line) => boolean, from = 0, wanted: unknown = fits): Promise<Line> {
    for (;;) {
      const found = this.all.slice(from).find(fits);
      if (found !== undefined) return found;
      if (this.#isOver) throw new Error(`the stream has ended without this line: ${wanted}`);
      await this.#more.promise;
    }
  }

  #tell(): void {
    this.#more.resolve();
    this.#more = Promise.withResolvers();
  }
}

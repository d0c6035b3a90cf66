import type { Statement } from 'better-sqlite3';

/**
 * A statement that SQLite compiles when it is first used. The store prepares some eighty of them at each start, and a life of a dozen
 * requests uses half. What reaches the disk is the same either way.
 */
export class LazyStatement {
  readonly #prepare: () => Statement;
  readonly #modes: ('pluck' | 'raw' | 'safeIntegers')[] = [];
  #statement: Statement | undefined;

  constructor(prepare: () => Statement) {
    this.#prepare = prepare;
  }

  get #compiled(): Statement {
    if (this.#statement === undefined) {
      this.#statement = this.#prepare();
      for (const mode of this.#modes) this.#statement[mode]();
    }
    return this.#statement;
  }

  pluck(): this {
    this.#modes.push('pluck');
    return this;
  }

  raw(): this {
    this.#modes.push('raw');
    return this;
  }

  safeIntegers(): this {
    this.#modes.push('safeIntegers');
    return this;
  }

  columns(): unknown {
    return this.#compiled.columns();
  }

  run(...values: unknown[]): unknown {
    return this.#compiled.run(...values);
  }

  get(...values: unknown[]): unknown {
    return this.#compiled.get(...values);
  }

  all(...values: unknown[]): unknown {
    return this.#compiled.all(...values);
  }

  iterate(...values: unknown[]): unknown {
    return this.#compiled.iterate(...values);
  }
}

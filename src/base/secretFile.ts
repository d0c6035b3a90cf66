import fs from 'node:fs';
import { OperatorError, reasonOf } from './operatorError.ts';

/**
 * A file that may be replaced while it is in use, such as credentials: read again for each connection. An empty file counts as none,
 * so that a unit can name a credential that may not be set.
 */
export class SecretFile {
  readonly #file: string | undefined;
  #content: Buffer | undefined;

  /** @param what its name in a sentence, such as "the credentials". @throws {OperatorError} if it cannot be read. */
  constructor(file: string | undefined, what: string) {
    this.#file = file;
    try {
      this.#content = this.#fresh();
    } catch (error) {
      const reason = reasonOf(error as NodeJS.ErrnoException);
      throw new OperatorError(`Cannot read ${what} in ${file}: ${reason}. Correct the path, or its rights.`);
    }
  }

  /** @returns its content now, or the last one that could be read; undefined if there is none. */
  read(): Buffer | undefined {
    try {
      this.#content = this.#fresh();
    } catch {
      // Root may have become another user, who may not read this file.
    }
    return this.#content;
  }

  #fresh(): Buffer | undefined {
    if (this.#file === undefined) return undefined;
    const content = fs.readFileSync(this.#file);
    return content.toString('latin1').trim() === '' ? undefined : content;
  }
}

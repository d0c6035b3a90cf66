import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { operatorErrors } from '../../base/sink.ts';

export interface Piece {
  readonly at: number;
  readonly bytes: number;
}

/**
 * Keeps on disk what is needed later and would not fit into memory. The file is unlinked as soon as it is open, so that
 * nothing remains of it, however the process ends.
 */
export class ScratchFile {
  /** For a sentence. */
  readonly #what: string;
  readonly #fd: number;
  #end = 0;

  /** @throws {OperatorError} where no file can be made in that folder. */
  constructor(folder: string) {
    this.#what = `a temporary file in ${folder}`;
    const name = path.join(folder, `.courtd-${randomBytes(12).toString('hex')}.partial`);
    const { O_RDWR, O_CREAT, O_EXCL, O_NOFOLLOW } = fs.constants;
    this.#fd = operatorErrors(this.#what, () => {
      const fd = fs.openSync(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
      fs.rmSync(name);
      return fd;
    });
  }

  /** @throws {OperatorError} why it cannot be written. */
  append(data: Uint8Array): Piece {
    const at = this.#end;
    for (let done = 0; done < data.length; ) {
      done += operatorErrors(this.#what, () =>
        fs.writeSync(this.#fd, data, done, data.length - done, at + done),
      );
    }
    this.#end += data.length;
    return { at, bytes: data.length };
  }

  read({ at, bytes }: Piece): Uint8Array {
    const data = Buffer.allocUnsafe(bytes);
    for (let done = 0; done < bytes; ) {
      const read = fs.readSync(this.#fd, data, done, bytes - done, at + done);
      if (read === 0) throw new Error('a scratch file is shorter than what was written to it');
      done += read;
    }
    return data;
  }

  close(): void {
    fs.closeSync(this.#fd);
  }
}

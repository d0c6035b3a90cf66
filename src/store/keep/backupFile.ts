import fs from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { OperatorError, reasonOf } from '../../base/operatorError.ts';
import { createPrivate, openCarefully } from '../../base/privateFile.ts';
import { headerOf } from '../db/fileHeader.ts';
import { SCHEMA_VERSION } from '../db/schema.ts';

/** Bytes that are copied between two turns of the event loop, in which signals are handled. */
const COPY_BYTES = 1024 ** 2;
const { O_RDONLY, O_WRONLY, O_NONBLOCK } = fs.constants;

/** Files beside a database that belong to it. `-shm` holds no data. */
export const COMPANIONS = ['-wal', '-journal'] as const;

/** A backup that is open for reading: the database, and a WAL or journal beside it. SQLite never opens it. */
export class BackupFile {
  readonly name: string;
  readonly #parts: { readonly companion: string; readonly fd: number }[] = [];

  /**
   * Reads the header, so that nothing is created or copied for a file that cannot be a backup.
   * @throws {OperatorError} if it cannot be read or is no backup.
   */
  constructor(file: string) {
    this.name = file;
    try {
      const fd = fs.openSync(file, O_RDONLY | O_NONBLOCK);
      this.#parts.push({ companion: '', fd });
      refuseForeign(file, fd);
      for (const companion of COMPANIONS.filter((one) => hasContent(file + one))) {
        // No symbolic link: a user who may write there could make root copy any file.
        this.#parts.push({ companion, fd: openCarefully(file + companion, O_RDONLY) });
      }
    } catch (error) {
      this.close();
      if (error instanceof OperatorError) throw error;
      const { code, path: named = file } = error as NodeJS.ErrnoException;
      if (code === 'ELOOP' && named !== file) {
        throw new OperatorError(
          `${named} is a symbolic link: nothing was changed. Remove it, or restore another backup.`,
        );
      }
      if (code === 'EISDIR') throw new OperatorError(`${named} is a directory: name a backup in it.`);
      throw new OperatorError(`Cannot read ${named}: ${reasonOf(error as NodeJS.ErrnoException)}.`);
    }
  }

  /** Whether it is this file. */
  isSame(file: string): boolean {
    const [one, other] = [fs.fstatSync(this.#parts[0]!.fd), fs.statSync(file, { throwIfNoEntry: false })];
    return one.dev === other?.dev && one.ino === other.ino;
  }

  /**
   * Copies it into an existing file, and its WAL or journal to the names that belong to that.
   * @throws {OperatorError} if somebody has written to it meanwhile. Node's error.
   */
  async copyTo(target: string): Promise<void> {
    const look = () => String(this.#parts.map(({ fd }) => fs.fstatSync(fd, { bigint: true }).mtimeNs));
    const before = look();
    const piece = Buffer.alloc(COPY_BYTES);
    for (const { companion, fd } of this.#parts) {
      if (companion !== '') createPrivate(target + companion);
      const to = openCarefully(target + companion, O_WRONLY);
      try {
        for (let at = 0, read = -1; read !== 0; at += read, await setImmediate()) {
          read = fs.readSync(fd, piece, 0, COPY_BYTES, at);
          fs.writeFileSync(to, piece.subarray(0, read));
        }
      } finally {
        fs.closeSync(to);
      }
    }
    if (look() !== before)
      throw new OperatorError(
        `${this.name} was written to while it was read: nothing was changed. If it is a copy, end the follower ("sudo systemctl stop courtd-copy") and try again.`,
      );
  }

  close(): void {
    for (const { fd } of this.#parts) fs.closeSync(fd);
  }
}

/** Whether a file exists and has any. */
export function hasContent(file: string): boolean {
  return (fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

function refuseForeign(file: string, fd: number): void {
  const { isOurs, version } = headerOf(fd);
  if (!isOurs || version === 0)
    throw new OperatorError(`${file} is not a courtd database: nothing was changed. Name a backup.`);
  if (version > SCHEMA_VERSION) {
    throw new OperatorError(
      `${file} was written by a newer courtd (layout ${version}, this version supports up to ${SCHEMA_VERSION}): nothing was changed. Install that version, or name an older backup.`,
    );
  }
}

import fs from 'node:fs';
import path from 'node:path';
import { explainWriteErrors, removeLeftovers } from '../../base/atomicFile.ts';
import { fileSink, makeDirectory } from '../../base/fileSink.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { asCaller } from '../../base/processIdentity.ts';
import { operatorErrors } from '../../base/sink.ts';
import { Damage } from '../../store/read/damage.ts';
import { failureKind } from '../../store/sqlite/errors.ts';
import { type ExportOptions, type ExportTeller, writeSession } from './writeSession.ts';

export interface ManyOptions extends ExportOptions {
  /** A directory; one whose name ends in / is created with the first file in it. */
  readonly output: string;
}

/** Writes sessions, each whole and into a file of its own below a directory. */
export class SessionFiles {
  readonly #options: ManyOptions;
  readonly #teller: ExportTeller;
  readonly #begun = new Set<string>();
  /** What could not be read of all of them. */
  readonly damage = new Damage();
  sessions = 0;
  events = 0;

  /** @throws {OperatorError} where there cannot be such a directory. */
  constructor(options: ManyOptions, teller: ExportTeller) {
    this.#options = options;
    this.#teller = teller;
    assertDirectory(options.output);
  }

  /**
   * @param file below the directory, without its extension.
   * @returns whether there was an event to write.
   */
  async write(session: string, file: string): Promise<boolean> {
    const { output, format } = this.#options;
    const place = path.join(output, `${file}.${format}`);
    const open = () => {
      for (const folder of [output, path.dirname(place)]) this.#begin(folder);
      return fileSink(place);
    };
    const destination = { file: place, unlessEmpty: true, open };
    const events = await unlessUnreadable(session, this.damage, () =>
      writeSession(session, this.#options, this.damage, destination, this.#teller),
    );
    if (!events) return false;
    this.sessions++;
    this.events += events;
    return true;
  }

  /** Makes a folder, or removes from it what a killed export has left. */
  #begin(folder: string): void {
    if (this.#begun.has(folder)) return;
    this.#begun.add(folder);
    if (!operatorErrors(folder, () => fs.existsSync(folder))) return makeDirectory(folder);
    const { format } = this.#options;
    operatorErrors(folder, () => removeLeftovers(folder, (name) => name.endsWith(`.${format}`)));
  }
}

/** @throws {OperatorError} where there is no directory, and none may be created: only one that ends in / may. */
function assertDirectory(place: string): void {
  const stat = explainWriteErrors(place, () => asCaller(() => fs.statSync(place, { throwIfNoEntry: false })));
  if (stat?.isDirectory()) return;
  if (stat !== undefined) {
    throw new OperatorError(`${place} is not a directory: with --day and --all, name one with -o DIR/.`);
  }
  if (place.endsWith('/')) return;
  throw new OperatorError(`There is no directory ${place}: end its name in / and -o creates it.`);
}

/** The next session may be intact. @returns undefined where the database could not be read, which `damage` then says. */
export async function unlessUnreadable<Result>(
  session: string,
  damage: Damage,
  work: () => Promise<Result>,
): Promise<Result | undefined> {
  try {
    return await work();
  } catch (error) {
    const isRead = error instanceof OperatorError && ['damaged', 'fatal'].includes(failureKind(error.cause));
    if (!isRead) throw error;
    damage.other(`Session ${JSON.stringify(session)} cannot be read, and is not written.`);
    return undefined;
  }
}

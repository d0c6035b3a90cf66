import fs from 'node:fs';
import { writeAtomically } from '../../base/atomicFile.ts';
import { OperatorError } from '../../base/operatorError.ts';
import type { ToldByTarget } from './alerter.ts';

/** What targets have been told, over a restart. */
export class ToldFile {
  readonly #file: string;
  readonly #say: (sentence: string) => void;
  /** What could not be written yet. */
  #unkept: ToldByTarget | undefined;

  /** @param say is told once why it cannot be written. */
  constructor(file: string, say: (sentence: string) => void) {
    this.#file = file;
    this.#say = say;
  }

  get isKept(): boolean {
    return this.#unkept === undefined;
  }

  /** @returns nothing where it is damaged: all is told again. @throws {OperatorError} where it cannot be read. */
  read(): ToldByTarget {
    let text: string;
    try {
      text = fs.readFileSync(this.#file, 'utf8');
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT') return {};
      throw new OperatorError(
        `${this.#file} cannot be read (${code}): give a directory of your own with --state.`,
      );
    }
    try {
      const value: unknown = JSON.parse(text);
      return isTold(value) ? value : {};
    } catch {
      return {};
    }
  }

  /**
   * Once it has returned, it is on disk. Where that cannot be, it is said, and tried again when it is called without an argument:
   * a disk that is full is a problem to tell of, so that must not keep anybody from being told.
   */
  keep(told = this.#unkept): void {
    if (told === undefined) return;
    try {
      writeAtomically(this.#file, JSON.stringify(told));
      this.#unkept = undefined;
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error;
      if (this.isKept) this.#say(`${error.message} Until then, a restart tells again what was told.`);
      this.#unkept = told;
    }
  }
}

const MEMBERS = ['code', 'about', 'level', 'message', 'advice'];

function isTold(value: unknown): value is ToldByTarget {
  return typeof value === 'object' && value !== null && Object.values(value).every(isOfTarget);
}

function isOfTarget(told: Record<string, unknown> | null): boolean {
  const { problems, due, at } = told ?? {};
  const { new: found, solved } = (due ?? {}) as Record<string, unknown>;
  return [problems, found, solved].every(areProblems) && (at === null || typeof at === 'number');
}

function areProblems(list: unknown): boolean {
  return Array.isArray(list) && list.every((one) => MEMBERS.every((name) => typeof one?.[name] === 'string'));
}

import { explainWriteErrors } from './atomicFile.ts';

/** The destination of long output, such as an export. */
export interface Sink {
  write(data: string | Uint8Array): Promise<void>;
  /** Completes the output; call it after the last write. */
  commit(): void;
  /** The file, and whether it replaces another one, for a message; absent: standard output. */
  readonly place?: string;
}

/** Runs `work`. @throws {OperatorError} for every failure: why `file` cannot be written. */
export function operatorErrors<Result>(file: string, work: () => Result): Result {
  return explainWriteErrors(file, work, ' with -o');
}

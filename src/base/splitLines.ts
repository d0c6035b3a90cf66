import { BODY_BYTES, LINE_BYTES } from './limits.ts';
import { OperatorError } from './operatorError.ts';

export interface Line {
  /** Without the end, which only the last line may lack. */
  readonly bytes: Buffer;
  /** From 1 on. */
  readonly number: number;
  readonly hasEnd: boolean;
}

/** @yields the lines of bytes that come in pieces. @throws {OperatorError} if one is too long; and what reading the pieces throws. */
export async function* splitLines(pieces: AsyncIterable<Buffer>): AsyncGenerator<Line> {
  let parts: Buffer[] = [];
  let [size, number] = [0, 1];
  for await (const piece of pieces) {
    for (let from = 0; ; ) {
      const end = piece.indexOf('\n', from);
      const part = piece.subarray(from, end < 0 ? piece.length : end);
      parts.push(part);
      size += part.length;
      if (size > LINE_BYTES)
        throw new OperatorError(`Line ${number} is longer than ${BODY_BYTES} bytes. No event is so large.`);
      if (end < 0) break;
      yield { bytes: Buffer.concat(parts), number: number++, hasEnd: true };
      [parts, size] = [[], 0];
      from = end + 1;
    }
  }
  if (size > 0) yield { bytes: Buffer.concat(parts), number, hasEnd: false };
}

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
  let [rest, number] = [Buffer.alloc(0), 1];
  for await (const piece of pieces) {
    rest = Buffer.concat([rest, piece]);
    let from = 0;
    for (let end = rest.indexOf('\n'); end >= 0; end = rest.indexOf('\n', from)) {
      yield { bytes: rest.subarray(from, end), number: number++, hasEnd: true };
      from = end + 1;
    }
    rest = rest.subarray(from);
    if (rest.length > LINE_BYTES)
      throw new OperatorError(`Line ${number} is longer than ${BODY_BYTES} bytes. No event is so large.`);
  }
  if (rest.length > 0) yield { bytes: rest, number, hasEnd: false };
}

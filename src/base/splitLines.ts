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
  let [rest, number]: [Buffer[], number] = [[], 1];
  for await (const piece of pieces) {
    let from = 0;
    for (let end = piece.indexOf('\n'); end >= 0; end = piece.indexOf('\n', from)) {
      yield { bytes: Buffer.concat([...rest, piece.subarray(from, end)]), number: number++, hasEnd: true };
      [rest, from] = [[], end + 1];
    }
    rest.push(piece.subarray(from));
    if (rest.reduce((sum, { length }) => sum + length, 0) > LINE_BYTES)
      throw new OperatorError(`Line ${number} is longer than ${BODY_BYTES} bytes. No event is so large.`);
  }
  const bytes = Buffer.concat(rest);
  if (bytes.length > 0) yield { bytes, number, hasEnd: false };
}

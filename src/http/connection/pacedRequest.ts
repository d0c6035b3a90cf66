import { http } from '../../base/nodeHttp.ts';
import { freeBuffer } from '../../base/ownMemory.ts';
import type { Problem } from '../../protocol/errors.ts';
import { READS_PER_TURN, type ReadTurns } from './readTurns.ts';

/** Chunks of one body after which its connection is paused, and resumed in a turn of its own. */
const CHUNKS_PER_TURN = 1_024;

/** Receives a body chunk by chunk, and then one of `end` and `failed`. */
export interface BodySink {
  /** @param bytes the sink may keep them: nothing else uses them. */
  add(bytes: Buffer): void;
  /** The body is complete. */
  end(): void;
  /** The rest of the body can never arrive. @param problem why; undefined where the client has disconnected. */
  failed(problem?: Problem): void;
}

const DISCARD: BodySink = { add: freeBuffer, end() {}, failed() {} };

/**
 * A request whose body goes straight from Node's parser to its reader. Its own stream would resume a connection that is paused, and
 * would hold the chunks of a body that comes in very small ones: `tiny-chunks` of test/overload misses its bar of memory then.
 */
export class PacedRequest extends http.IncomingMessage {
  #sink: BodySink | undefined;
  /** Why the body can never be complete, where that was known before anybody read it. */
  #failure: Problem | undefined;
  #chunks = 0;

  /** Passes the body to `sink`: what has arrived already at once, the rest as it arrives. Call it once. */
  readInto(sink: BodySink): void {
    this.#sink = sink;
    if (this.#failure !== undefined) return sink.failed(this.#failure);
    // Node sees from `read` that the body is wanted, and does not discard it after the response.
    for (let bytes = this.read(); bytes !== null; bytes = this.read()) this.#sink.add(bytes);
    if (this.complete) this.#sink.end();
    else if (this.destroyed) this.#sink.failed();
    // Where the connection closes first: Node destroys the request. After its end, nobody listens.
    else this.once('close', () => this.#sink?.failed());
  }

  /** Discards a body that nobody has begun to read, and frees it: Node would leave what has arrived to the garbage collector. */
  dropBody(): void {
    if (this.#sink === undefined && this.#failure === undefined) this.readInto(DISCARD);
  }

  /** Discards whatever else arrives of the body; the sink is not called again. */
  discardBody(): void {
    this.#sink = DISCARD;
  }

  /** Node's parser has failed in the body. @param problem to answer with. */
  failBody(problem: Problem): void {
    if (this.#sink === undefined) this.#failure = problem;
    else this.#sink.failed(problem);
  }

  /** Node's parser calls this with each chunk of the body, and with null at its end (ARCHITECTURE.md, "A body without stream events"). */
  override push(bytes: Buffer | null): boolean {
    const sink = this.#sink;
    if (sink === undefined) return super.push(bytes);
    if (bytes === null) {
      this.discardBody();
      sink.end();
      super.push(null);
      // The stream ends too, or Node would hold the request until the next one of its connection.
      this.read();
    } else {
      sink.add(bytes);
    }
    return true;
  }

  /** Counts a chunk of the body. At one byte each, a single read brings 11,000 chunks, which take 15 ms: a turn of their own. */
  countChunk(turns: ReadTurns): void {
    if (++this.#chunks % CHUNKS_PER_TURN === 0) turns.pause(this.socket, READS_PER_TURN);
  }
}

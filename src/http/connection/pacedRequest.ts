import type { Socket } from 'node:net';
import { http } from '../../base/nodeHttp.ts';
import type { Problem } from '../../protocol/errors.ts';

/** Paused connections that are resumed in one turn of the event loop; each is then read once, 64 KiB at most. */
const READS_PER_TURN = 8;
/** Chunks of one body after which its connection is paused, and resumed in a turn of its own. */
const CHUNKS_PER_TURN = 1_024;

/** Paused connections, in the order in which they are resumed, each with its `resume` (pauseUntilTurn). */
const paused = new Map<Socket, () => number>();

/**
 * Pauses a connection and resumes it in one of the next turns of the event loop. Two hundred large bodies discarded at the same
 * time would fill a turn, and a camera's request needs several turns.
 * @param resume resumes the connection. @returns its share of READS_PER_TURN.
 */
function pauseUntilTurn(socket: Socket, resume: () => number): void {
  socket.pause();
  if (paused.size === 0) setImmediate(runTurn);
  paused.set(socket, resume);
}

function runTurn(): void {
  let left = READS_PER_TURN;
  for (const [socket, resume] of paused) {
    if (left <= 0) break;
    paused.delete(socket);
    left -= resume();
  }
  if (paused.size > 0) setImmediate(runTurn);
}

/** Pauses a connection whose input is discarded, and resumes it when it is its turn. */
export function resumeSoon(socket: Socket): void {
  pauseUntilTurn(socket, () => {
    socket.resume();
    return 1;
  });
}

/** Receives a body chunk by chunk, and then one of `end` and `failed`. */
export interface BodySink {
  /** @param bytes the sink may keep them: nothing else uses them. */
  add(bytes: Buffer): void;
  /** The body is complete. */
  end(): void;
  /** The rest of the body can never arrive. @param problem why; undefined where the client has disconnected. */
  failed(problem?: Problem): void;
}

const DISCARD: BodySink = { add() {}, end() {}, failed() {} };

/**
 * A request whose body goes straight from Node's parser to its reader: through the events of a stream, a small request took a tenth
 * more CPU time. It applies backpressure to a client that sends its body in very small chunks.
 */
export class PacedRequest extends http.IncomingMessage {
  #sink: BodySink | undefined;
  /** Why the body can never be complete, where that was known before anybody read it. */
  #failure: Problem | undefined;
  #chunks = 0;
  #isPaused = false;

  /** Passes the body to `sink`: what has arrived already at once, the rest as it arrives. Call it once. */
  readInto(sink: BodySink): void {
    this.#sink = sink;
    if (this.#failure !== undefined) return sink.failed(this.#failure);
    // Node sees from `read` that the body is wanted, and does not discard it after the response.
    for (let bytes = this.read(); bytes !== null; bytes = this.read()) this.#sink.add(bytes);
    if (this.complete) this.#sink.end();
    else if (this.destroyed) this.#sink.failed();
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

  /** Node calls this with an error where the connection closes before the response. */
  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#sink?.failed();
    super._destroy(error, callback);
  }

  /** Counts a chunk of the body. At one byte each, a single read brings 11,000 chunks, which take 15 ms: a turn of their own. */
  countChunk(): void {
    if (++this.#chunks % CHUNKS_PER_TURN !== 0) return;
    this.#isPaused = true;
    pauseUntilTurn(this.socket, () => {
      this.#isPaused = false;
      this.socket.resume();
      return READS_PER_TURN;
    });
  }

  /** Node calls this on every tick, and would resume the connection. */
  override _read(size: number): void {
    if (!this.#isPaused) super._read(size);
  }
}

import { once } from 'node:events';
import net from 'node:net';
import os from 'node:os';
import { createHistogram } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { Traffic } from '../traffic.ts';
import { isAccepted, parseAnswer } from './answer.ts';
import type { Shift, ShiftOutcome } from './cameras.ts';
import { requestHead } from './client.ts';

/** The process of `cameras.ts`: sends one shift and prints its outcome. */

interface Sending {
  /** When it should be sent, on the monotonic clock. */
  readonly dueAt: number;
  readonly events: number;
  readonly body: string;
}

/** In a venue the cameras are machines of their own, which wait for no program of the box: here they go first, where that is allowed. */
const PRIORITY = os.constants.priority.PRIORITY_HIGH;

try {
  os.setPriority(PRIORITY);
} catch {
  // Only root may raise a priority.
}
const shift = JSON.parse(process.argv[2]!) as Shift;
const head = requestHead(shift.target);
const traffic = new Traffic(shift.target.wording, shift.run, 0);
const latenciesUs = createHistogram();
const latenessUs = createHistogram();
let answered = 0;
let events = 0;
let failures = 0;

/** One connection; a request that is due while another awaits its answer is queued. */
class Camera {
  readonly #socket: net.Socket;
  readonly #waiting: Sending[] = [];
  #sent: Sending | undefined;
  #received = '';

  constructor(socket: net.Socket) {
    this.#socket = socket;
    socket.setEncoding('latin1').on('data', (text: string) => this.#receive(text));
    socket.on('error', () => {});
    socket.on('close', () => {
      failures += this.#waiting.length + (this.#sent ? 1 : 0);
      this.#sent = undefined;
    });
  }

  get isIdle(): boolean {
    return this.#sent === undefined;
  }

  send(sending: Sending): void {
    if (this.#sent !== undefined) {
      this.#waiting.push(sending);
      return;
    }
    this.#sent = sending;
    this.#socket.write(`${head}${sending.body.length}\r\n\r\n${sending.body}`, 'latin1');
  }

  end(): void {
    this.#socket.end();
  }

  #receive(text: string): void {
    this.#received += text;
    const answer = parseAnswer(this.#received);
    if (answer === undefined || this.#sent === undefined) return;
    const { dueAt, events: sent } = this.#sent;
    latenciesUs.record(microseconds(performance.now() - dueAt));
    answered++;
    if (isAccepted(answer, sent)) events += sent;
    else failures++;
    this.#received = '';
    this.#sent = undefined;
    const next = this.#waiting.shift();
    if (next !== undefined) this.send(next);
  }
}

const cameras = await Promise.all(Array.from({ length: shift.cameras }, connect));
const startAt = performance.now() + 100;
for (const after of times()) {
  // Built before it is due, so that only courtd's time is measured.
  const size = 1 + Math.floor(Math.random() * shift.mostEvents);
  const sending: Sending = { dueAt: startAt + after, events: size, body: traffic.next(size) };
  for (let ms = 1; ms > 0; ) {
    ms = sending.dueAt - performance.now();
    if (ms > 0) await sleep(ms);
  }
  latenessUs.record(microseconds(performance.now() - sending.dueAt));
  cameras[Math.floor(Math.random() * cameras.length)]!.send(sending);
}
while (cameras.some((camera) => !camera.isIdle)) await sleep(1);
for (const camera of cameras) camera.end();
const outcome: ShiftOutcome = {
  requests: answered,
  events,
  p50Ms: latenciesUs.percentile(50) / 1000,
  p99Ms: latenciesUs.percentile(99) / 1000,
  maxMs: latenciesUs.max / 1000,
  failures,
  lateMs: latenessUs.percentile(99) / 1000,
};
process.stdout.write(`${JSON.stringify(outcome)}\n`);

/** @returns when requests are due, in milliseconds from the start: at random, as those of independent cameras are. */
function times(): number[] {
  const perRequest = (1 + shift.mostEvents) / 2;
  const count = Math.round((shift.eventsPerS * shift.seconds) / perRequest);
  return Array.from({ length: count }, () => Math.random() * shift.seconds * 1000).sort((a, b) => a - b);
}

async function connect(): Promise<Camera> {
  const socket = net.connect({ port: shift.target.port, host: '127.0.0.1', noDelay: true });
  await once(socket, 'connect');
  return new Camera(socket);
}

function microseconds(ms: number): number {
  return Math.max(1, Math.round(ms * 1000));
}

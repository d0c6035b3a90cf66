import { once } from 'node:events';
import net from 'node:net';
import os from 'node:os';
import { createHistogram } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Format, Traffic } from './traffic.ts';

/** The client, in a process of its own: sends one order, given as JSON in argv, and prints the outcome. */

/** Where and how to send events. */
export interface Target {
  readonly port: number;
  readonly path: string;
  readonly token: string;
  readonly format: Format;
}

export interface Order extends Target {
  readonly connections: number;
  /** In a request: from, to. */
  readonly events: readonly [least: number, most: number];
  /** Of each connection, at random times; absent: each sends its next request when the last one is answered. */
  readonly requestsPerS?: number;
  readonly courts: number;
  readonly seconds: number;
  /** Part of the sessions' names. */
  readonly run: string;
  /** Events that were sent before, so that sessions continue. */
  readonly before: number;
}

export interface Outcome {
  /** Answered with 2xx. */
  readonly events: number;
  readonly seconds: number;
  /** From when a request was due: waiting behind a slow one counts. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Anything but a 2xx with all its events accepted. */
  readonly failures: number;
  readonly answerBytes: number;
}

interface Request {
  readonly dueAt: number;
  readonly events: number;
  readonly body: string;
}

/** One connection; a request that is due while another awaits its answer is queued. */
class Connection {
  readonly #socket: net.Socket;
  readonly #waiting: Request[] = [];
  #sent: Request | undefined;
  #received = '';

  constructor(socket: net.Socket) {
    this.#socket = socket.setEncoding('latin1');
    socket.on('data', (text: string) => this.#receive(text));
    socket.on('error', () => failures++);
    socket.on('close', () => {
      failures += this.#waiting.length + (this.#sent ? 1 : 0);
      this.#sent = undefined;
    });
  }

  get isIdle(): boolean {
    return this.#sent === undefined;
  }

  send(request: Request): void {
    if (this.#sent !== undefined) return void this.#waiting.push(request);
    this.#sent = request;
    this.#socket.write(`${head}${request.body.length}\r\n\r\n${request.body}`, 'latin1');
  }

  end(): void {
    this.#socket.end();
  }

  #receive(text: string): void {
    answerBytes += text.length;
    this.#received += text;
    const headEnd = this.#received.indexOf('\r\n\r\n') + 4;
    const length = Number(/\r\ncontent-length: *(\d+)/i.exec(this.#received)?.[1] ?? 0);
    if (headEnd < 4 || this.#received.length < headEnd + length || this.#sent === undefined) return;
    const { dueAt, events: sent } = this.#sent;
    latenciesUs.record(Math.max(1, Math.round((performance.now() - dueAt) * 1000)));
    // InfluxDB answers without a body.
    const accepted = length === 0 ? sent : JSON.parse(this.#received.slice(headEnd)).accepted;
    if (this.#received[9] === '2' && accepted === sent) events += sent;
    else failures++;
    this.#received = '';
    this.#sent = undefined;
    const next = this.#waiting.shift() ?? (isOpen || performance.now() >= endAt ? undefined : nextRequest());
    if (next !== undefined) this.send(next);
  }
}

try {
  // In a venue the cameras are machines of their own. Only root may raise a priority.
  if (process.getuid?.() === 0) os.setPriority(os.constants.priority.PRIORITY_HIGH);
} catch {}
const order = JSON.parse(process.argv[2]!) as Order;
const isOpen = order.requestsPerS !== undefined;
const head =
  `POST ${order.path} HTTP/1.1\r\nHost: 127.0.0.1:${order.port}\r\nAuthorization: Bearer ${order.token}\r\n` +
  'Content-Type: application/json\r\nContent-Length: ';
const traffic = new Traffic(order);
const latenciesUs = createHistogram();
let [events, failures, answerBytes] = [0, 0, 0];
const connections = await Promise.all(Array.from({ length: order.connections }, connect));
const startedAt = performance.now();
const endAt = startedAt + order.seconds * 1000;
if (isOpen) await sendAtRandomTimes();
else for (const connection of connections) connection.send(nextRequest());
while (connections.some((connection) => !connection.isIdle)) await sleep(1);
const seconds = (performance.now() - startedAt) / 1000;
for (const connection of connections) connection.end();
const [p50Ms, p99Ms] = [latenciesUs.percentile(50) / 1000, latenciesUs.percentile(99) / 1000];
const outcome: Outcome = { events, seconds, p50Ms, p99Ms, failures, answerBytes };
process.stdout.write(`${JSON.stringify(outcome)}\n`);

function nextRequest(dueAt = performance.now()): Request {
  const [least, most] = order.events;
  const events = least + Math.floor(Math.random() * (most - least + 1));
  return { dueAt, events, body: traffic.next(events) };
}

/** Independent cameras: all times are fixed before the first, whatever the answers take. */
async function sendAtRandomTimes(): Promise<void> {
  const count = Math.round(order.connections * order.requestsPerS! * order.seconds);
  const times = Array.from({ length: count }, () => startedAt + Math.random() * order.seconds * 1000);
  for (const dueAt of times.sort((a, b) => a - b)) {
    // Built before it is due, so that only the server's time is measured.
    const request = nextRequest(dueAt);
    for (let ms = dueAt - performance.now(); ms > 0; ms = dueAt - performance.now()) await sleep(ms);
    connections[Math.floor(Math.random() * connections.length)]!.send(request);
  }
}

async function connect(): Promise<Connection> {
  const socket = net.connect({ port: order.port, host: '127.0.0.1', noDelay: true });
  await once(socket, 'connect');
  return new Connection(socket);
}

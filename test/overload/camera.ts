import { giveWay } from './process.ts';
import { Batches } from './requests.ts';
import { count, type Tally, type Target, Wire } from './wire.ts';

/**
 * Well-behaved cameras in a process of their own: `node camera.ts JSON`. Each sends its requests when they are due,
 * whatever has become of those before (open loop), on connections that it keeps; the time runs from when it was due.
 */

export interface CameraOrder {
  readonly target: Target;
  readonly cameras: number;
  readonly perSecond: number;
  readonly events: number;
  readonly seconds: number;
}

export interface CameraReport {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  readonly answers: Tally;
}

const PATIENCE_MS = 10_000;

class Camera {
  readonly #order: CameraOrder;
  readonly #from: string;
  readonly #batches: Batches;
  readonly #idle: Wire[] = [];
  readonly answers: Tally = {};
  readonly times: number[] = [];
  #waiting = 0;

  constructor(order: CameraOrder, number: number) {
    this.#order = order;
    this.#from = `127.0.0.${2 + number}`;
    this.#batches = new Batches(order.target, `camera-${number}`, order.events);
  }

  get isWaiting(): boolean {
    return this.#waiting > 0;
  }

  send(dueAt: number): void {
    this.#waiting++;
    const wire = this.#idle.pop();
    if (wire === undefined) this.#open(dueAt);
    else this.#ask(wire, dueAt);
  }

  #ask(wire: Wire & { dueAt?: number }, dueAt: number): void {
    wire.dueAt = dueAt;
    wire.owed++;
    wire.socket.write(this.#batches.next());
  }

  #open(dueAt: number): void {
    const wire: Wire & { dueAt?: number } = new Wire(
      this.#order.target,
      this.#from,
      (status) => {
        this.times.push(performance.now() - wire.dueAt!);
        count(this.answers, status);
        this.#waiting--;
        this.#idle.push(wire);
      },
      () => {
        const at = this.#idle.indexOf(wire);
        if (at >= 0) this.#idle.splice(at, 1);
        if (wire.owed <= 0) return;
        count(this.answers, 'lost');
        this.times.push(PATIENCE_MS);
        this.#waiting--;
      },
    );
    this.#ask(wire, dueAt);
  }
}

const order: CameraOrder = JSON.parse(process.argv[2] ?? '{}');
giveWay(process.pid, 'camera');
const cameras = Array.from({ length: order.cameras }, (_, i) => new Camera(order, i));
const everyMs = 1000 / order.perSecond;
// The first second opens connections and compiles code, here.
const startsAt = performance.now() + 1_000;
const endsAt = startsAt + order.seconds * 1000;
let due = performance.now();
for (; due < endsAt; due += everyMs / cameras.length) {
  const camera = cameras[Math.round(due / (everyMs / cameras.length)) % cameras.length]!;
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, due - performance.now())));
  if (due < startsAt) camera.times.length = 0;
  camera.send(due);
}
const until = performance.now() + PATIENCE_MS;
while (cameras.some(({ isWaiting }) => isWaiting) && performance.now() < until) {
  await new Promise((resolve) => setTimeout(resolve, 20));
}
const times = cameras.flatMap(({ times }) => times).sort((a, b) => a - b);
const answers: Tally = {};
for (const camera of cameras) {
  for (const [what, n] of Object.entries(camera.answers)) answers[what] = (answers[what] ?? 0) + n;
  if (camera.isWaiting) count(answers, 'none');
}
const at = (part: number) =>
  times[Math.min(times.length - 1, Math.ceil(part * times.length) - 1)] ?? PATIENCE_MS;
const report: CameraReport = { p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1), answers };
process.stdout.write(JSON.stringify(report), () => process.exit());

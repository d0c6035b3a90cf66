import { isDeepStrictEqual } from 'node:util';
import type { Box, Said } from './box.ts';
import { type CameraOrder, Cameras, eventOf, type Report, sizeAt } from './cameras.ts';
import { expect } from './walk.ts';

/** Requests per second of each camera: those of a busy one and of one with an idle connection fail differently at a restart. */
const PER_SECOND = [150, 150, 150, 150, 4, 4, 4, 4, 4, 4, 4, 4];
/** Requests of a step, at least: `around` before and after what is done under load. */
export const LOAD = { many: 2_000, some: 600, around: 300 } as const;

const SERVICE = 'courtd.service';

/** A box, the cameras around it, and what they know to be stored. */
export class Venue {
  readonly box: Box;
  /** Events of each camera that have a 202, by session and camera: those before this number. */
  readonly acknowledged = new Map<string, number>();
  token = '';
  readonly #working = new Set<Cameras>();

  constructor(box: Box) {
    this.box = box;
  }

  /** Runs `courtd` in the box, as root. */
  courtd(...args: string[]): Promise<Said> {
    return this.box.run('courtd', ...args);
  }

  /** Cameras begin to send, or continue a session behind what was acknowledged. */
  open(session: string): Cameras {
    const orders = PER_SECOND.map((perSecond, i): CameraOrder => {
      const camera = `camera-${i + 1}`;
      const from = this.acknowledged.get(`${session} ${camera}`) ?? 0;
      return { session, camera, from, perSecond, address: `127.0.0.${i + 2}` };
    });
    const cameras = new Cameras(this.box.leader, this.token, orders);
    this.#working.add(cameras);
    return cameras;
  }

  /** Ends the work of cameras, and takes down what came of it. @throws {Broken} if answers contradict each other. */
  async close(cameras: Cameras, how: 'stop' | 'abandon' = 'stop'): Promise<Report> {
    const report = await cameras[how]();
    this.#working.delete(cameras);
    for (const [name, count] of report.acknowledged) this.acknowledged.set(name, count);
    expect(report.lies.length === 0, `contradicting answers: ${report.lies.slice(0, 3).join('; ')}`);
    return report;
  }

  /**
   * Does something while all cameras send.
   * @param requests that they send at least.
   */
  async underLoad(session: string, requests: number, act: () => Promise<unknown>): Promise<Report> {
    const cameras = this.open(session);
    const before = await cameras.requests(LOAD.around);
    expect(failuresOf(before) === 0, `${failures(before)} before anything was done`);
    await act();
    const { requests: sent } = await cameras.requests(0);
    await cameras.requests(Math.max(sent + LOAD.around, requests));
    return this.close(cameras);
  }

  /** As `underLoad`. @returns what is said of it. @throws {Broken} if a request was not answered 202 at once. */
  async withoutLoss(
    session: string,
    requests: number,
    act: () => Promise<unknown> = async () => {},
  ): Promise<string> {
    const report = await this.underLoad(session, requests, act);
    expect(failuresOf(report) === 0, failures(report));
    return failures(report);
  }

  /**
   * Compares the events of the box with those that were acknowledged, and takes what it holds for true from then on.
   * @param session this one alone.
   * @param least what must be there, by session and camera: after a restore, what had been acknowledged before the backup.
   * @returns how many are there.
   */
  async check(
    session?: string,
    least: ReadonlyMap<string, number> = new Map(this.acknowledged),
  ): Promise<string> {
    const stored = await this.#stored(session);
    let events = 0;
    for (const name of new Set([...this.acknowledged.keys(), ...stored.keys()])) {
      if (session !== undefined && !name.startsWith(`${session} `)) continue;
      const numbers = stored.get(name) ?? new Set();
      const count = numbers.size;
      const most = this.acknowledged.get(name) ?? 0;
      const missing = (least.get(name) ?? 0) - count;
      expect(missing <= 0, `${name}: ${missing} acknowledged events are lost`);
      expect(Math.max(-1, ...numbers) === count - 1, `${name}: there are holes in its ${count} events`);
      // The last request of a camera that was cut off is there whole, or not at all.
      const isSent = count <= most || count === most + sizeAt(most);
      expect(isSent, `${name}: ${count} events are there, and ${most} were acknowledged`);
      this.acknowledged.set(name, count);
      events += count;
    }
    return `all ${number(events)} acknowledged events are there, once`;
  }

  /** @returns the numbers of the events of each session and camera. @throws {Broken} at one that is not as it was sent, or there twice. */
  async #stored(session: string | undefined): Promise<Map<string, Set<number>>> {
    const stored = new Map<string, Set<number>>();
    const only = session === undefined ? [] : ['--session', session];
    for await (const line of this.box.lines('courtd', 'tail', '--json', '--after', '0', ...only)) {
      const { event } = JSON.parse(line);
      const { session_id, source, payload } = event;
      expect(isDeepStrictEqual(event, eventOf(session_id, source, payload.frame)), `Not as sent: ${line}`);
      const name = `${session_id} ${source}`;
      const numbers = stored.get(name) ?? new Set();
      stored.set(name, numbers);
      expect(!numbers.has(payload.frame), `Stored twice: ${line}`);
      numbers.add(payload.frame);
    }
    return stored;
  }

  /** @throws {Broken} if the service is not up. */
  async expectUp(): Promise<void> {
    const state = await this.box.show(SERVICE, 'ActiveState');
    expect(state === 'active', `${SERVICE} is ${state}`);
  }

  pid(): Promise<string> {
    return this.box.show(SERVICE, 'MainPID');
  }

  /** @returns the last lines of the journal, and what has not ended. */
  async lastWords(): Promise<string> {
    const running = [...this.box.running].map((command) => `still running: ${command}`);
    return [await this.box.journal(SERVICE), ...running].join('\n');
  }

  /** Ends what would outlive a step that has failed. */
  end(): void {
    for (const cameras of this.#working) cameras.kill();
  }
}

/** @returns such as "2 of 21,034 requests failed (2 ECONNRESET)". */
export function failures(report: Report): string {
  const kinds = Object.entries(report.failures).map(([what, count]) => `${count} ${what}`);
  const list = kinds.length > 0 ? ` (${kinds.join(', ')})` : '';
  return `${number(failuresOf(report))} of ${number(report.requests)} requests failed${list}`;
}

function failuresOf({ failures }: Report): number {
  return Object.values(failures).reduce((sum, count) => sum + count, 0);
}

export function number(value: number): string {
  return value.toLocaleString('en');
}

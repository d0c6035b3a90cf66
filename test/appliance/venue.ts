import { isDeepStrictEqual } from 'node:util';
import type { Box, Said } from './box.ts';
import { Cameras, eventOf, type Report } from './cameras.ts';
import { expect } from './walk.ts';

/** Requests of a step, at least: `around` before and after what is done under load. */
export const LOAD = { many: 2_000, some: 600, around: 300 } as const;

const SERVICE = 'courtd.service';

/** A box, the cameras around it, and what they know to be stored. */
export class Venue {
  readonly box: Box;
  /** The event_ids that have a 202, by session. */
  readonly acknowledged = new Map<string, ReadonlySet<string>>();
  token = '';
  /** The number of the next event, by session. */
  readonly #next = new Map<string, number>();
  readonly #working = new Set<Cameras>();

  constructor(box: Box) {
    this.box = box;
  }

  /** Runs `courtd` in the box, as root. */
  courtd(...args: string[]): Promise<Said> {
    return this.box.run('courtd', ...args);
  }

  /** Cameras begin to send, or continue a session. */
  open(session: string): Cameras {
    const order = { token: this.token, session, from: this.#next.get(session) ?? 0 };
    const cameras = new Cameras(this.box.leader, order);
    this.#working.add(cameras);
    return cameras;
  }

  /** Ends the work of cameras, and takes down what came of it. @throws {Broken} if answers contradict each other. */
  async close(cameras: Cameras, how: 'stop' | 'abandon' = 'stop'): Promise<Report> {
    const report = await cameras[how]();
    this.#working.delete(cameras);
    const { session, acknowledged } = cameras;
    this.acknowledged.set(session, new Set([...(this.acknowledged.get(session) ?? []), ...acknowledged]));
    this.#next.set(session, report.next);
    expect(report.faults.length === 0, `contradicting answers: ${report.faults.slice(0, 3).join('; ')}`);
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
   * @param least what must be there: after a restore, what had been acknowledged before the backup.
   * @returns how many are there.
   */
  async check(session?: string, least = new Map(this.acknowledged)): Promise<string> {
    const stored = await this.#stored(session);
    let events = 0;
    for (const name of session === undefined ? this.acknowledged.keys() : [session]) {
      const there = stored.get(name) ?? new Set();
      const lost = [...(least.get(name) ?? [])].filter((id) => !there.has(id));
      expect(lost.length === 0, `${name}: ${lost.length} acknowledged events are lost: ${lost.slice(0, 3)}`);
      this.acknowledged.set(name, there);
      events += there.size;
    }
    return `all ${number(events)} acknowledged events are there, once`;
  }

  /** @returns the event_ids of each session. @throws {Broken} at an event that is not as it was sent, or there twice. */
  async #stored(session: string | undefined): Promise<Map<string, Set<string>>> {
    const stored = new Map<string, Set<string>>();
    const only = session === undefined ? [] : ['--session', session];
    for await (const line of this.box.lines('courtd', 'tail', '--json', '--after', '0', ...only)) {
      const { event } = JSON.parse(line);
      const { event_id, session_id, payload } = event;
      expect(isDeepStrictEqual(event, eventOf(session_id, payload.frame)), `Not as sent: ${line}`);
      const ids = stored.get(session_id) ?? new Set();
      stored.set(session_id, ids);
      expect(!ids.has(event_id), `Stored twice: ${line}`);
      ids.add(event_id);
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

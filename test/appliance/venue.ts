import fs from 'node:fs';
import path from 'node:path';
import type { Box, Said } from './box.ts';
import type { CameraOrder } from './camera.ts';
import { Ledger } from './ledger.ts';
import { Shift, type ShiftReport } from './shift.ts';
import { expect } from './walk.ts';

/** Requests a second of a camera that is busy, and of one whose connection rests in between: each loses other requests at a restart. */
const BUSY = 150;
const CALM = 4;
const CALM_CAMERAS = 12;
/** Cameras that are busy, and requests of a step, at least. */
export const LOADS = {
  /** As many as keep two cores busy. Tens of thousands of requests where a single one must not fail. `around`: before and after what is done under load. */
  full: { busy: 24, many: 30_000, some: 5_000, around: 1_500 },
  /** As many as leave room: what takes a while has more requests beside it than a step asks for, and each check reads all of them. */
  quick: { busy: 4, many: 2_000, some: 600, around: 300 },
} as const;
export type Load = (typeof LOADS)[keyof typeof LOADS];

const SERVICE = 'courtd.service';
const EXPORTED = '/root/exported';

/** A box, the cameras around it, and what they know to be stored. */
export class Venue {
  readonly box: Box;
  readonly ledger = new Ledger();
  token = '';
  readonly totals = { requests: 0, resends: 0 };
  readonly load: Load;
  readonly #shifts = new Set<Shift>();

  constructor(box: Box, load: Load = LOADS.quick) {
    this.box = box;
    this.load = load;
  }

  /** Runs `courtd` in the box, as root. */
  courtd(...args: string[]): Promise<Said> {
    return this.box.run('courtd', ...args);
  }

  /**
   * Cameras begin to send, or go on with a session where its ledger ends.
   * @param busy how many are, beside the calm ones.
   */
  open(session: string, busy: number = this.load.busy): Shift {
    const cameras = Array.from({ length: busy + CALM_CAMERAS }, (_, i): CameraOrder => {
      const perSecond = i < busy ? BUSY : CALM;
      const name = { session, camera: `camera-${i + 1}` };
      return { ...name, from: this.ledger.next(name), perSecond, address: `127.0.0.${i + 2}` };
    });
    const shift = new Shift(this.box.leader, { token: this.token, cameras });
    this.#shifts.add(shift);
    return shift;
  }

  /** Ends a shift, and enters in the ledger what came of it. @throws {Broken} if answers contradict each other. */
  async close(shift: Shift, how: 'stop' | 'abandon' = 'stop'): Promise<ShiftReport> {
    const report = await shift[how]();
    this.#shifts.delete(shift);
    this.ledger.enter(report);
    this.totals.requests += report.requests;
    this.totals.resends += failuresOf(report);
    expect(report.lies.length === 0, `contradicting answers: ${report.lies.slice(0, 3).join('; ')}`);
    return report;
  }

  /**
   * Does something while all cameras send.
   * @param requests that they send at least.
   * @param busy as of `open`.
   */
  async underLoad(
    session: string,
    requests: number,
    act: () => Promise<unknown>,
    busy?: number,
  ): Promise<ShiftReport> {
    const shift = this.open(session, busy);
    const before = await shift.requests(this.load.around);
    expect(failuresOf(before) === 0, `${failures(before)} before anything was done`);
    await act();
    const { requests: sent } = await shift.requests(0);
    await shift.requests(Math.max(sent + this.load.around, requests));
    return this.close(shift);
  }

  /** As `underLoad`. @returns what is said of it. @throws {Broken} if a request was not answered 202 at once. */
  async withoutLoss(
    session: string,
    requests: number,
    act: () => Promise<unknown>,
    busy?: number,
  ): Promise<string> {
    const report = await this.underLoad(session, requests, act, busy);
    expect(failuresOf(report) === 0, failures(report));
    return failures(report);
  }

  /** Compares a session with its export, or all of them. @returns the events that are there. */
  async check(session?: string): Promise<string> {
    if (session !== undefined) await this.ledger.check(session, this.exported(session));
    else await this.#checkAll();
    return `all ${number(this.ledger.count(session))} acknowledged events are there, once`;
  }

  /** Of every session, with one command. */
  async #checkAll(): Promise<void> {
    const command = ['export', '--since', '2000-01-01', '--format', 'ndjson', '-o', `${EXPORTED}/`];
    await this.box.must('courtd', ...command);
    const folder = this.box.root + EXPORTED;
    const files = fs.readdirSync(folder, { recursive: true, encoding: 'utf8' });
    const linesOf = new Map<string, string[]>();
    for (const name of files.filter((name) => name.endsWith('.ndjson'))) {
      const lines = fs.readFileSync(path.join(folder, name), 'utf8').split('\n').slice(0, -1);
      linesOf.set(JSON.parse(lines[0]!).session_id, lines);
    }
    fs.rmSync(folder, { recursive: true });
    for (const session of this.ledger.sessions) await this.ledger.check(session, linesOf.get(session) ?? []);
  }

  /**
   * Takes what the box holds after `courtd restore` for true.
   * @param least what must be in it: acknowledged before the backup began.
   */
  async rewind(least: Ledger): Promise<void> {
    const listed = JSON.parse(await this.box.must('courtd', 'session', 'list', '--json')) as {
      session_id: string;
    }[];
    for (const session of this.ledger.sessions) {
      if (listed.some(({ session_id }) => session_id === session)) {
        await this.ledger.rewind(session, this.exported(session), least);
      } else {
        expect(least.count(session) === 0, `${session} is lost`);
        this.ledger.forget(session);
      }
    }
  }

  exported(session: string): AsyncGenerator<string> {
    return this.box.lines('courtd', 'export', session, '--format', 'ndjson');
  }

  /** @throws {Broken} if the service is not up, or not as its unit says. */
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
    for (const shift of this.#shifts) shift.kill();
  }
}

/** @returns such as "0 of 21,034 requests failed, the slowest took 812 ms". */
export function failures(report: ShiftReport): string {
  const kinds = Object.entries(report.failures).map(([what, count]) => `${count} ${what}`);
  const list = kinds.length > 0 ? ` (${kinds.join(', ')})` : '';
  const slowest = `the slowest took ${report.slowestMs.toFixed(0)} ms`;
  return `${number(failuresOf(report))} of ${number(report.requests)} requests failed${list}, ${slowest}`;
}

export function failuresOf({ failures }: ShiftReport): number {
  return Object.values(failures).reduce((sum, count) => sum + count, 0);
}

export function number(value: number): string {
  return value.toLocaleString('en');
}

import { type Cleanup, Daemon } from './daemon.ts';
import { event } from './events.ts';
import { type Asserts, checkProblem } from './problem.ts';
import { type Answer, answerOf } from './rawClient.ts';

const ROWS = 4;

/**
 * One daemon that takes a table of bad requests: after every few rows it must still take a good event, and at the end it must hold
 * nothing else.
 */
export class BadTable {
  readonly daemon: Daemon;
  #rows = 0;
  #goodEvents = 0;

  private constructor(daemon: Daemon) {
    this.daemon = daemon;
  }

  static async open(t: Cleanup, args: readonly string[] = []): Promise<BadTable> {
    return new BadTable(await Daemon.start(t, ['--rate-limit', '0', ...args]));
  }

  post(body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    return answerOf(this.daemon.post(body, headers));
  }

  /** This body is answered 400 with this code. */
  async isRefused(t: Asserts, body: string | Buffer, code: string, what: string): Promise<void> {
    checkProblem(t, await this.post(body), 400, code, what);
    await this.goesOn(t, what);
  }

  async goesOn(t: Asserts, what: string): Promise<void> {
    if (this.#rows++ % ROWS !== 0) return;
    const answer = await this.post(event({ session_id: 'good' }));
    t.equal(answer.body, '{"accepted":1,"duplicates":0}', `${what}: then a good event`);
    this.#goodEvents++;
  }

  /** The last row. */
  async holdsNothingElse(t: Asserts): Promise<void> {
    const { stdout } = await this.daemon.command('session', 'list', '--json');
    const sessions: { session_id: string }[] = JSON.parse(stdout);
    const names = sessions.map(({ session_id }) => session_id);
    t.strictSame(names, ['good'], 'no other session is there');
    t.equal((await this.daemon.exported('good')).length, this.#goodEvents, 'nor another event');
    const faults = this.daemon.log.filter(({ level }) => level === 'error' || level === 'fatal');
    t.strictSame(faults, [], 'nor a line in the log about a bug in courtd');
  }
}

/** What a test is called that has this value. */
export function show(value: unknown): string {
  return (JSON.stringify(value) ?? 'missing').slice(0, 40);
}

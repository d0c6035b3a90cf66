import fs from 'node:fs';
import path from 'node:path';
import type { Random } from '../../src/vendor/simulate/random.ts';
import { compareStored, type Fault, tell } from '../harness/compareStored.ts';
import type { History, Sent } from '../harness/history.ts';
import { type Stored, StoredReader } from '../harness/storedReader.ts';
import type { Traffic } from '../harness/traffic.ts';
import type { Workshop } from '../harness/workshop.ts';
import { type Opened, openDaemon, openStore } from './opened.ts';
import { dataIn } from './recording.ts';

/** Requests that are sent once more after a cut where not all of them are: the last ones that were answered, and any. */
const RESENT = { last: 3, any: 3, unanswered: 3 };

/** Starts courtd on a disk after a cut, and holds what it finds there against what was acknowledged. */
export class Check {
  readonly #workshop: Workshop;
  readonly #history: History;
  readonly #traffic: Traffic;
  readonly #random: Random;
  readonly #reader: StoredReader;

  constructor(workshop: Workshop, history: History, traffic: Traffic, random: Random) {
    this.#workshop = workshop;
    this.#history = history;
    this.#traffic = traffic;
    this.#random = random;
    this.#reader = new StoredReader(history);
  }

  /** @param byDaemon starts the program itself, not just its store. @returns what is wrong on a disk after a cut. */
  async run(image: string, cut: number, byDaemon: boolean): Promise<readonly Fault[]> {
    let mounted: ReturnType<Workshop['mount']>;
    try {
      mounted = this.#workshop.mount(image, 'after');
    } catch (error) {
      return [faultOf('unmountable', error)];
    }
    try {
      return await this.#look(dataIn(mounted.folder), cut, byDaemon);
    } finally {
      mounted.unmount();
    }
  }

  async #look(data: string, cut: number, byDaemon: boolean): Promise<readonly Fault[]> {
    const answered = this.#history.answered(cut);
    const tokens = this.#history.shownTokens(cut);
    if (!fs.existsSync(path.join(data, 'courtd.db')) && tokens.length + answered.length > 0) {
      return [faultOf('lost', 'the whole database')];
    }
    let opened: Opened;
    try {
      opened = byDaemon && tokens.length > 0 ? await openDaemon(data, tokens.at(-1)!) : await openStore(data);
    } catch (error) {
      return [faultOf('stopped', error)];
    }
    const faults: Fault[] = [];
    try {
      const stored = this.#reader.read(data);
      faults.push(...compareStored(stored, this.#history, answered, cut));
      for (const token of tokens) {
        if (!(await opened.accepts(token))) faults.push({ kind: 'lost', what: 'a token that was shown' });
      }
      const sound = faults.length === 0;
      if (sound) faults.push(...(await this.#goOn(opened, data, this.#resent(cut, byDaemon), stored)));
    } catch (error) {
      faults.push(faultOf('stopped', error));
    } finally {
      await opened.close();
    }
    return faults;
  }

  /** What was answered and what was not. */
  #resent(cut: number, isAll: boolean): readonly Sent[] {
    const { requests } = this.#history;
    if (isAll) return requests;
    const answered = [...this.#history.answered(cut)].sort((a, b) => b.answeredAt! - a.answeredAt!);
    const open = requests.filter(({ answeredAt }) => answeredAt === undefined || answeredAt > cut);
    const any = (sent: readonly Sent[], count: number) =>
      sent.length > 0 ? times(count, () => this.#random.pick(sent)) : [];
    return [...answered.slice(0, RESENT.last), ...any(answered, RESENT.any), ...any(open, RESENT.unanswered)];
  }

  /**
   * The senders come back, and with something new. What is there is a duplicate; of what was acknowledged only what was pruned
   * is not there, or `compareStored` has reported.
   */
  async #goOn(opened: Opened, data: string, resent: readonly Sent[], stored: Stored): Promise<Fault[]> {
    const faults: Fault[] = [];
    const fresh = this.#history.addAside(this.#traffic.fresh(2));
    const expected = new Set(stored.keys);
    for (const { body, events } of [...resent, fresh]) {
      const news = new Set(events.map(({ key }) => key).filter((key) => !expected.has(key)));
      const { accepted, duplicates } = await opened.append(body);
      if (accepted !== news.size || accepted + duplicates !== events.length) {
        const what = `of which ${news.size} are new: ${accepted} accepted, ${duplicates} duplicates`;
        tell(faults, accepted > news.size ? 'lost' : 'half', events, what);
      }
      for (const key of news) expected.add(key);
    }
    const after = this.#reader.read(data);
    if (after.integrity !== 'ok') faults.push({ kind: 'corrupt', what: after.integrity });
    if (after.twice.length > 0) tell(faults, 'twice', after.twice, 'are stored twice after resends');
    if (after.changed.length > 0) tell(faults, 'corrupt', after.changed, 'are not as sent after resends');
    if (after.keys.size !== expected.size || [...expected].some((key) => !after.keys.has(key))) {
      faults.push({ kind: 'lost', what: `${after.keys.size} events after resends, not ${expected.size}` });
    }
    return faults;
  }
}

function faultOf(kind: Fault['kind'], why: unknown): Fault {
  return { kind, what: String(why instanceof Error ? why.message : why) };
}

function times<Item>(count: number, make: () => Item): Item[] {
  return Array.from({ length: count }, make);
}

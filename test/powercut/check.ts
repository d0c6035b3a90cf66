import fs from 'node:fs';
import path from 'node:path';
import { DataDirectory } from '../../src/base/dataDirectory.ts';
import { decodeBatch } from '../../src/protocol/decodeBatch.ts';
import { Store } from '../../src/store/store.ts';
import type { Random } from '../../src/vendor/simulate/random.ts';
import { compareStored, type Fault, tell } from '../harness/compareStored.ts';
import type { History, Sent } from '../harness/history.ts';
import { type Stored, StoredReader } from '../harness/storedReader.ts';
import { UNWATCHED } from '../harness/storeEvents.ts';
import type { Traffic } from '../harness/traffic.ts';
import type { Workshop } from '../harness/workshop.ts';
import { dataIn } from './recording.ts';

/** Requests that are sent once more after a cut: the last ones that were answered, any, and some that were not. */
const RESENT = { last: 3, any: 3, unanswered: 3 };

/** Opens the store on a disk after a cut, as courtd does when it starts, and holds what it finds there against what was acknowledged. */
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

  /** @returns what is wrong on a disk after a cut. */
  async run(image: string, cut: number): Promise<readonly Fault[]> {
    let mounted: ReturnType<Workshop['mount']>;
    try {
      mounted = this.#workshop.mount(image, 'after');
    } catch (error) {
      return [faultOf('unmountable', error)];
    }
    try {
      return await this.#look(dataIn(mounted.folder), cut);
    } catch (error) {
      return [faultOf('stopped', error)];
    } finally {
      mounted.unmount();
    }
  }

  async #look(data: string, cut: number): Promise<readonly Fault[]> {
    const answered = this.#history.answered(cut);
    const tokens = this.#history.shownTokens(cut);
    if (!fs.existsSync(path.join(data, 'courtd.db')) && tokens.length + answered.length > 0)
      return [faultOf('lost', 'the whole database')];
    const store = await Store.open(new DataDirectory(data), UNWATCHED);
    try {
      const stored = this.#reader.read(data);
      const faults = compareStored(stored, this.#history, answered);
      for (const token of tokens)
        if (!store.tokens.accepts(token, '127.0.0.1'))
          faults.push({ kind: 'lost', what: 'a token that was shown' });
      return faults.length > 0 ? faults : await this.#goOn(store, data, this.#resent(cut), stored);
    } finally {
      await store.close();
    }
  }

  /** What was answered and what was not. */
  #resent(cut: number): readonly Sent[] {
    const answered = this.#history.answered(cut).sort((a, b) => b.answeredAt! - a.answeredAt!);
    const open = this.#history.requests.filter((sent) => !answered.includes(sent));
    const any = (sent: readonly Sent[], count: number) =>
      sent.length > 0 ? Array.from({ length: count }, () => this.#random.pick(sent)) : [];
    return [...answered.slice(0, RESENT.last), ...any(answered, RESENT.any), ...any(open, RESENT.unanswered)];
  }

  /** The senders come back, and with something new: what is there is a duplicate, and nothing else is. */
  async #goOn(store: Store, data: string, resent: readonly Sent[], stored: Stored): Promise<Fault[]> {
    const faults: Fault[] = [];
    const fresh = this.#history.addAside(this.#traffic.fresh(2));
    const expected = new Set(stored.keys);
    for (const { body, events } of [...resent, fresh]) {
      const news = new Set(events.map(({ key }) => key).filter((key) => !expected.has(key)));
      const { accepted, duplicates } = await store.writer.append(decodeBatch(Buffer.from(body)));
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
    if (after.keys.size !== expected.size || [...expected].some((key) => !after.keys.has(key)))
      faults.push({ kind: 'lost', what: `${after.keys.size} events after resends, not ${expected.size}` });
    return faults;
  }
}

function faultOf(kind: Fault['kind'], why: unknown): Fault {
  return { kind, what: String(why instanceof Error ? why.message : why) };
}

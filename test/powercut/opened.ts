import { DataDirectory } from '../../src/base/dataDirectory.ts';
import { decodeBatch } from '../../src/protocol/decodeBatch.ts';
import { Store } from '../../src/store/store.ts';
import { Daemon } from '../harness/daemon.ts';
import { UNWATCHED } from '../harness/storeEvents.ts';
import { untilExit } from '../harness/untilExit.ts';

/** Options of the daemon: the disk is small, and one sender is as fast as all cameras. */
export const SERVE: readonly string[] = ['--rate-limit', '0', '--min-free', '0'];

/** courtd on a disk after a cut: it has started. */
export interface Opened {
  append(body: string): Promise<{ accepted: number; duplicates: number }>;
  accepts(token: string): Promise<boolean>;
  close(): Promise<void>;
}

/** Starts courtd itself. */
export async function openDaemon(data: string, token: string): Promise<Opened> {
  const daemon = await Daemon.run(untilExit, data, token, SERVE);
  return {
    append: async (body) => {
      const answer = await daemon.post(body);
      if (answer.status !== 202) throw new Error(`a valid request was answered ${answer.status}`);
      return (await answer.json()) as { accepted: number; duplicates: number };
    },
    accepts: async (shown) => (await daemon.post('[]', { Authorization: `Bearer ${shown}` })).status === 202,
    close: async () => void (await daemon.stop()),
  };
}

/** Opens the store in this process, on the way that courtd takes when it starts: ten times as fast. */
export async function openStore(data: string): Promise<Opened> {
  const store = await Store.open(new DataDirectory(data), UNWATCHED);
  return {
    append: (body) => store.append(decodeBatch(Buffer.from(body))),
    accepts: async (token) => store.tokens.accepts(token, '127.0.0.1'),
    close: () => store.close(),
  };
}

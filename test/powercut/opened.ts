import { decodeBatch } from '../../src/protocol/decodeBatch.ts';
import { Store } from '../../src/store/store.ts';
import { Daemon } from './daemon.ts';
import { QUIET } from './recording.ts';

/** courtd on a disk after a cut: it has started. */
export interface Opened {
  append(body: string): Promise<{ accepted: number; duplicates: number }>;
  accepts(token: string): Promise<boolean>;
  close(): Promise<void>;
}

/** Starts courtd itself. */
export async function openDaemon(data: string, token: string | undefined): Promise<Opened> {
  const daemon = await Daemon.start(data);
  return {
    append: async (body) => {
      const answer = await daemon.post(token ?? '', body);
      if (answer.status !== 202) throw new Error(`a valid request was answered ${answer.status}`);
      return answer;
    },
    accepts: async (shown) => (await daemon.post(shown, '[]')).status === 202,
    close: () => daemon.stop('SIGTERM'),
  };
}

/** Opens the store in this process, on the way that courtd takes when it starts: ten times as fast. */
export async function openStore(data: string): Promise<Opened> {
  const store = await Store.open(data, QUIET);
  return {
    append: (body) => store.append(decodeBatch(Buffer.from(body))),
    accepts: async (token) => store.tokens.accepts(token, '127.0.0.1'),
    close: () => store.close(),
  };
}

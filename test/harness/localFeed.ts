import type { DataDirectory } from '../../src/base/dataDirectory.ts';
import type { Feed } from '../../src/fleet/ship/boxLog.ts';
import { serveLog } from '../../src/fleet/ship/serveLog.ts';
import type { Players } from '../../src/fleet/ship/settings.ts';

interface FeedOptions {
  readonly players?: Players;
  readonly signal?: AbortSignal;
  readonly onDamage?: (sentence: string) => void;
}

/** @returns what `courtd tail --after -` gives a shipper, in this process. */
export function localFeed(directory: DataDirectory, options: FeedOptions = {}): Feed {
  const { players = 'as-sent', signal, onDamage = () => {} } = options;
  const { promise, resolve } = Promise.withResolvers<number>();
  const ending = new AbortController();
  const end = AbortSignal.any([ending.signal, ...(signal === undefined ? [] : [signal])]);
  const chunks = serveLog(directory, players, () => promise, onDamage, end);
  return {
    bytes: (async function* () {
      for await (const lines of chunks) yield Buffer.from(lines.join(''));
    })(),
    answer: (text) => resolve(Number(text)),
    close: () => ending.abort(),
  };
}

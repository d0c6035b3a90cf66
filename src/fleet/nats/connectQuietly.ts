import { AsyncLocalStorage } from 'node:async_hooks';
import { type ConnectionOptions, connect, type NatsConnection } from '@nats-io/transport-node';

const inLibrary = new AsyncLocalStorage<true>();
let isInstalled = false;

/**
 * The library's `connect`, without what it prints: bytes that it cannot read it shows as they came, by console.log, for as long as
 * the connection lasts, and in the middle of a command's output. Whatever else the process prints is printed.
 */
export function connectQuietly(options: ConnectionOptions): Promise<NatsConnection> {
  if (!isInstalled) {
    const { log } = console;
    console.log = (...all) => {
      if (inLibrary.getStore() === undefined) log(...all);
    };
    isInstalled = true;
  }
  return inLibrary.run(true, () => connect(options));
}

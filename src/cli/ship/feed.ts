import { OperatorError } from '../../base/operatorError.ts';
import { pause } from '../../base/pause.ts';
import { abortOnSignal } from '../../base/signals.ts';
import { FeedServer } from '../../fleet/feed/feedServer.ts';
import { LocalFeed } from '../../fleet/feed/localFeed.ts';
import type { ShipSettings } from '../../fleet/ship/settings.ts';
import { takeSocket } from '../../host/socketActivation.ts';
import type { DataOption } from '../../store/open/withDatabase.ts';

/** systemd starts it again on the next connection. */
const IDLE_MS = 60_000;
const CHECK_MS = 5_000;

/** `courtd ship feed`: serves the socket that systemd has passed, until a signal, or after a minute without requests. */
export async function feed({ data, players }: DataOption & Pick<ShipSettings, 'players'>): Promise<void> {
  const socket = takeSocket();
  if (socket === undefined) {
    throw new OperatorError(
      'The feed serves a socket that systemd passes: start courtd-feed.socket. Without one, "courtd ship" reads the database itself.',
    );
  }
  const local = new LocalFeed(data, players);
  const ending = abortOnSignal();
  await local.state();
  const server = await FeedServer.start(data, local, socket.fd);
  try {
    while (!ending.aborted && performance.now() - server.askedAt < IDLE_MS) {
      await pause(CHECK_MS, ending);
    }
  } finally {
    await server.close();
    await local.close();
  }
}

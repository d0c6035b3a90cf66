import { type Cleanup, Daemon } from './daemon.ts';
import { events } from './events.ts';

/** @returns a data directory with events in it, and its daemon, which has stopped. */
export async function stored(
  t: Cleanup,
  count = 20,
  overrides: Record<string, unknown> = {},
): Promise<Daemon> {
  const daemon = await Daemon.start(t, ['--rate-limit', '0']);
  for (let sent = 0; sent < count; sent += 500) {
    const { status } = await daemon.post(events(Math.min(500, count - sent), overrides));
    if (status !== 202) throw new Error(`answered ${status}`);
  }
  await daemon.stop();
  return daemon;
}

/** Why what is only root's to do cannot be shown here; false where it can. */
export const withoutRoot: string | false = process.getuid?.() !== 0 && 'only root can show it';

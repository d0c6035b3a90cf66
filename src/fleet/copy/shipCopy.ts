import type { DataDirectory } from '../../base/dataDirectory.ts';
import { UsageError } from '../../base/operatorError.ts';
import { lockShipper } from '../../store/directory/directoryLock.ts';
import type { ShipReport } from '../ship/report.ts';
import type { ShipSettings } from '../ship/settings.ts';
import { directoryOf } from './copyFiles.ts';
import { Shipper } from './copyShipper.ts';
import { DirectorySink } from './directorySink.ts';
import { COPY_HAS_PLAYERS } from './eventFeed.ts';
import { LocalFeed } from './localFeed.ts';

interface CopyOptions {
  readonly once: boolean;
  readonly signal: AbortSignal;
  readonly onChange: (report: ShipReport) => void;
  readonly onLeftOut: (sentence: string) => void;
}

/** From SIGTERM to the end, whatever is under way. */
const END_MS = 8_000;

/** Copies the log of a data directory into the directory of COURTD_SHIP_URL. @throws {OperatorError} */
export async function shipCopy(
  data: DataDirectory,
  { url, box, players }: ShipSettings,
  { once, signal, onChange, onLeftOut }: CopyOptions,
): Promise<ShipReport> {
  const root = directoryOf(url)!;
  if (players === 'pseudonym') throw new UsageError(COPY_HAS_PLAYERS);
  const feed = new LocalFeed(data);
  await feed.state();
  const lock = lockShipper(data);
  // Node does not exit before a file operation has ended: a stick may never end it.
  signal.addEventListener('abort', () => {
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), END_MS).unref();
  });
  const sink = new DirectorySink({ root, box, url }, feed);
  const onReport = (report: ShipReport, isChange: boolean) => isChange && onChange(report);
  try {
    return await new Shipper(feed, sink, { box, url, once, signal, onReport, onLeftOut }).run();
  } finally {
    await feed.close();
    lock.close();
  }
}

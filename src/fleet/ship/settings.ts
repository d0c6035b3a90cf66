import { UsageError } from '../../base/operatorError.ts';
import { directoryOf } from '../copy/copyFiles.ts';
import { COPY_HAS_PLAYERS, type EventFeed, type Players } from '../feed/eventFeed.ts';
import { shownUrl } from '../nats/address.ts';
import { Connector } from '../nats/connect.ts';
import type { ChunkSink } from './sink/sink.ts';

/** Where to ship to, as the settings say it. */
export interface ShipSettings {
  readonly url?: string | undefined;
  readonly box?: string | undefined;
  /** COURTD_SHIP_CREDS: a file. */
  readonly creds?: string | undefined;
  /** COURTD_SHIP_CA: a file. */
  readonly ca?: string | undefined;
  readonly players?: Players | undefined;
}

/** A place to ship to, before it is connected to. */
export interface Destination {
  readonly box: string;
  /** Without a name and password: for reports. */
  readonly url: string;
  makeSink(feed: EventFeed): ChunkSink;
}

/**
 * Reads the files of the credentials, but connects to nobody.
 * @throws {UsageError} where a setting is missing or wrong.
 * @throws {OperatorError} where a file cannot be read.
 */
export async function destinationOf({ url, box, creds, ca, players }: ShipSettings): Promise<Destination> {
  if (url === undefined) {
    throw new UsageError(
      'Shipping is off: set COURTD_SHIP_URL (or --url) to where the events go, such as tls://hq.example.org or file:///media/copy.',
    );
  }
  const root = directoryOf(url);
  if (root !== undefined && players === 'pseudonym') throw new UsageError(COPY_HAS_PLAYERS);
  const connector = root === undefined ? new Connector({ url, creds, ca }) : undefined;
  const shown = shownUrl(url);
  if (box === undefined) {
    throw new UsageError(
      'Set COURTD_SHIP_BOX (or --box) to the name of this box: 1 to 32 of a to z, 0 to 9 and "-", and no other box has it.',
    );
  }
  if (connector === undefined) {
    const { DirectorySink } = await import('./sink/directorySink.ts');
    return { box, url: shown, makeSink: (feed) => new DirectorySink({ root: root!, box, url: shown }, feed) };
  }
  const { NatsSink } = await import('./sink/natsSink.ts');
  return { box, url: shown, makeSink: (feed) => new NatsSink({ connector, box }, feed) };
}

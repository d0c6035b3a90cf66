import { OperatorError } from '../base/operatorError.ts';
import { SecretFile } from '../base/secretFile.ts';
import { parseServers, type Servers, shownUrl } from '../nats/address.ts';
import type { EventFeed } from './feed/eventFeed.ts';
import type { Sink } from './sink/sink.ts';

/** Where to ship to, as the settings say it. */
export interface ShipSettings {
  readonly url?: string | undefined;
  readonly box?: string | undefined;
  /** COURTD_SHIP_CREDS: a file. */
  readonly creds?: string | undefined;
  /** COURTD_SHIP_CA: a file. */
  readonly ca?: string | undefined;
}

/** @returns the settings of a command that has no options for them; the URL as it may be shown. */
export function shipSettingsOf({
  COURTD_SHIP_URL: url,
  COURTD_SHIP_BOX: box,
}: NodeJS.ProcessEnv): ShipSettings {
  return { url: url === undefined ? undefined : shownUrl(url), box };
}

/** A place to ship to, before it is connected to. */
export interface Destination {
  readonly box: string | null;
  /** Without a name and password: for reports. */
  readonly url: string;
  makeSink(feed: EventFeed): Sink;
}

/**
 * Reads the files of the credentials, but connects to nobody.
 * @throws {OperatorError} where a setting is missing or wrong.
 */
export async function destinationOf({ url, box, creds, ca }: ShipSettings): Promise<Destination> {
  if (url === undefined) {
    throw new OperatorError(
      'Shipping is off: set COURTD_SHIP_URL to where the events go, such as nats://hq.example.org or https://hq.example.org:4000.',
    );
  }
  const address = parseAddress(url);
  const shown = shownUrl(url);
  const secret = new SecretFile(creds, 'the credentials (COURTD_SHIP_CREDS)');
  const authority = new SecretFile(ca, "the authority's certificate (COURTD_SHIP_CA)");
  if ('courtd' in address) {
    const { CourtdSink } = await import('./sink/courtdSink.ts');
    const target = { url: new URL(shown), name: shown, token: secret, ca: authority };
    return { box: box ?? null, url: shown, makeSink: (feed) => new CourtdSink(target, feed) };
  }
  if (box === undefined) {
    throw new OperatorError(
      'Set COURTD_SHIP_BOX to the name of this box at headquarters: 1 to 32 of a to z, 0 to 9 and "-", and no other box has it.',
    );
  }
  const { NatsSink } = await import('./sink/natsSink.ts');
  const target = { ...address, box, name: shown, creds: secret, ca: authority };
  return { box, url: shown, makeSink: (feed) => new NatsSink(target, feed) };
}

/** NATS servers, or another courtd. */
export type Address = { readonly servers: Servers } | { readonly courtd: URL };

/** @throws {OperatorError} where it is neither. */
export function parseAddress(text: string): Address {
  if (/^(nats|tls):/i.test(text.trim())) {
    try {
      return { servers: parseServers(text) };
    } catch (error) {
      throw new OperatorError(`COURTD_SHIP_URL is wrong. ${(error as Error).message}`);
    }
  }
  // A comma may stand in a URL, and several courtds may not.
  const courtd = text.includes(',') ? null : URL.parse(text.trim());
  if (courtd !== null && /^https?:$/.test(courtd.protocol)) return { courtd };
  throw new OperatorError(
    'COURTD_SHIP_URL is wrong. Give nats:// or tls:// (several servers with commas between), or the address of one courtd with ' +
      'http:// or https://.',
  );
}

import { boxNameFault } from '../../base/boxName.ts';
import { UsageError } from '../../base/operatorError.ts';

/** Headquarters gets players as the cameras name them, or under pseudonyms. */
const PLAYERS = ['as-sent', 'pseudonym'] as const;
export type Players = (typeof PLAYERS)[number];

/**
 * @returns the settings of the shipper. `feed` is a socket; undefined: the log is read from the data directory.
 * @throws {UsageError} if a setting is missing or wrong.
 */
export function shipSettings(env: NodeJS.ProcessEnv) {
  const { COURTD_SHIP_URL: url, COURTD_SHIP_BOX: box = '' } = env;
  if (url === undefined)
    throw new UsageError(
      'Shipping is off: COURTD_SHIP_URL is not set. Set it to the servers of headquarters, such as tls://hq.example.org.',
    );
  const fault = boxNameFault(box);
  if (fault !== undefined)
    throw new UsageError(
      `COURTD_SHIP_BOX="${box}" is not the name of a box. ${fault} No other box may have it.`,
    );
  playersSetting(env);
  const { COURTD_SHIP_CREDS: creds, COURTD_SHIP_CA: ca, COURTD_SHIP_FEED: feed } = env;
  return { url, box, creds, ca, feed };
}

/** @throws {UsageError} if COURTD_SHIP_PLAYERS is something else. */
export function playersSetting({ COURTD_SHIP_PLAYERS: value = 'as-sent' }: NodeJS.ProcessEnv): Players {
  const players = PLAYERS.find((one) => one === value);
  if (players !== undefined) return players;
  throw new UsageError(`COURTD_SHIP_PLAYERS="${value}" is unknown. Set one of ${PLAYERS.join(', ')}.`);
}

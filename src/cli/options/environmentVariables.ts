import { type Command, InvalidArgumentError, type Option } from 'commander';
import { say } from '../terminal/output.ts';
import { integer, parseBox, parseDuration } from './optionParsers.ts';

/** Parsers of variables without an option: the units of the timers and the shipper read them. */
const UNIT_PARSERS: Readonly<Record<string, (text: string) => unknown>> = {
  COURTD_BACKUP_KEEP: integer(1),
  COURTD_SHIP_HOLD: parseDuration,
  COURTD_SHIP_BOX: parseBox,
};

/** The name of every variable that has an effect; a test holds it to the options and the units, so that no start has to load them all. */
export const VARIABLES: readonly string[] = `
  ALERT_COMMAND ALERT_URL BACKUP_DIR BACKUP_KEEP COPY_DIR PING_URL PURGE_DATA TOKEN_FILE
  SHIP_URL SHIP_BOX SHIP_CREDS SHIP_CA SHIP_PLAYERS SHIP_FEED SHIP_HOLD FLEET_CREDS FLEET_CA TOKEN
  DATA HOST PORT VENUE RATE_LIMIT CONNECTIONS_PER_ADDRESS BODY_LIMIT MIN_FREE KEEP KEEP_POSITIONS
  QUIET REFUSED_BYTES LOG_LEVEL TLS_CERT TLS_KEY RUN_DIR`
  .trim()
  .split(/\s+/)
  .map((name) => `COURTD_${name}`);

/** An empty variable counts as unset, as in an EnvironmentFile of systemd; commander would take it as a value. */
export function dropEmptyVariables(): void {
  for (const name of Object.keys(process.env)) {
    if (name.startsWith('COURTD_') && process.env[name] === '') delete process.env[name];
  }
}

/** Reports a misspelt COURTD_ variable, which would otherwise have no effect and no message. */
export function warnOfUnknownVariables(): void {
  for (const name of Object.keys(process.env).sort()) {
    if (!name.startsWith('COURTD_') || VARIABLES.includes(name)) continue;
    say(`courtd: The variable ${name} has no effect. "courtd serve --help" shows the settings.`);
  }
}

/** @param program with all its verbs loaded. @returns what would be accepted as the value of a variable, if this one is not. */
export function variableFault(program: Command, name: string, value: string): string | undefined {
  const option = optionsOf(program).find(({ envVar }) => envVar === name);
  try {
    if (option?.argChoices && !option.argChoices.includes(value))
      return `Give one of ${option.argChoices.join(', ')}.`;
    (option?.parseArg ?? UNIT_PARSERS[name])?.(value, undefined);
    return undefined;
  } catch (error) {
    if (error instanceof InvalidArgumentError) return error.message;
    throw error;
  }
}

function optionsOf({ options, commands }: Command): Option[] {
  return [...options, ...commands.flatMap(optionsOf)];
}

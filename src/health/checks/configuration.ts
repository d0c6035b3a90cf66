import { type Finding, fail, ok, warn } from '../finding.ts';
import type { Box } from './box.ts';
import { type Check, type Fault, together } from './check.ts';

/** What the timers' units read. */
const OF_TIMERS = ['COURTD_BACKUP_KEEP', 'COURTD_KEEP', 'COURTD_KEEP_POSITIONS'];
const RESTART = 'then "sudo systemctl restart courtd"';

export const configuration: Check = {
  name: 'configuration',
  look: ({ variables, settings, settingsFrom, unit }) => {
    const isUnderSystemd = unit !== undefined;
    const names = Object.keys(settings).sort();
    const findings = names.map((name) => {
      if (!variables.isKnown(name)) return unknown(name, settingsFrom);
      const wrong = variables.faultOf(name, settings[name]!);
      if (wrong !== undefined) return invalid(name, wrong, settingsFrom);
      return isUnderSystemd && ['COURTD_HOST', 'COURTD_PORT'].includes(name) ? unused(name) : undefined;
    });
    const known = names.length === 0 ? 'every setting is at its default' : `set: ${names.join(', ')}`;
    return together(
      [...findings, oneOfTwo(settings)],
      ok(`The settings are valid (${settingsFrom}; ${known}).`),
    );
  },
};

function unknown(name: string, from: string): Finding {
  return warn(
    `The variable ${name} has no effect (${from}).`,
    `Remove or correct ${name}; "courtd serve --help" shows the settings.`,
  );
}

function invalid(name: string, why: string, from: string): Finding {
  const isTimers = OF_TIMERS.includes(name);
  const then = isTimers ? 'the nightly unit fails' : 'courtd does not start with it';
  return fail(
    `${name} has a wrong value, and ${then} (${from}).`,
    `${why} Correct it${isTimers ? '' : `, ${RESTART}`}.`,
  );
}

function unused(name: string): Finding {
  return warn(
    `${name} is not used: under systemd courtd.socket holds the port.`,
    `Remove ${name}, and move the port with "sudo systemctl edit courtd.socket".`,
  );
}

function oneOfTwo({ COURTD_TLS_CERT, COURTD_TLS_KEY }: Box['settings']): Fault {
  if ((COURTD_TLS_CERT === undefined) === (COURTD_TLS_KEY === undefined)) return undefined;
  return fail(
    'Only one of COURTD_TLS_CERT and COURTD_TLS_KEY is set, and courtd does not start with that.',
    `Set both or neither, ${RESTART}.`,
  );
}

import { type Command, InvalidArgumentError, type Option } from 'commander';
import { BACKUPS_KEPT_MAX } from '../../base/limits.ts';
import { type Finding, fail, ok, warn } from '../../health/finding.ts';
import { knownVariables, nearestVariable } from '../options/environmentVariables.ts';
import { integer, parseDuration } from '../options/optionParsers.ts';
import type { Box } from './box.ts';
import { type Check, type Fault, together } from './check.ts';

/** What the timers' units read; no option stands for them. */
const TIMERS: Readonly<Record<string, (text: string) => unknown>> = {
  COURTD_BACKUP_KEEP: integer(1, BACKUPS_KEPT_MAX),
  COURTD_KEEP: periodOrOff,
  COURTD_KEEP_POSITIONS: periodOrOff,
};
const RESTART = 'then "sudo systemctl restart courtd"';

export const configuration: Check = {
  name: 'configuration',
  look: ({ program, settings, settingsFrom, unit }) => {
    const isUnderSystemd = unit !== undefined;
    const names = Object.keys(settings).sort();
    const findings = names.map((name) => {
      if (!knownVariables(program).includes(name)) return unknown(program, name, settingsFrom);
      const wrong = faultOf(program, name, settings[name]!);
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

function unknown(program: Command, name: string, from: string): Finding {
  const near = nearestVariable(name, program);
  return warn(
    `The variable ${name} has no effect (${from}).`,
    near === undefined
      ? `Remove ${name}; "courtd serve --help" shows the settings.`
      : `Write ${near} in place of ${name}, ${RESTART}.`,
  );
}

function invalid(name: string, why: string, from: string): Finding {
  const isTimers = Object.hasOwn(TIMERS, name);
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

/** @returns what would be accepted, where the value is not. */
function faultOf(program: Command, name: string, value: string): string | undefined {
  const option = optionsOf(program).find(({ envVar }) => envVar === name);
  try {
    if (option?.argChoices && !option.argChoices.includes(value))
      return `Give one of ${option.argChoices.join(', ')}.`;
    (option?.parseArg ?? TIMERS[name])?.(value, undefined);
    return undefined;
  } catch (error) {
    if (error instanceof InvalidArgumentError) return error.message;
    throw error;
  }
}

function optionsOf({ options, commands }: Command): Option[] {
  return [...options, ...commands.flatMap(optionsOf)];
}

/** As the unit takes it: 0 is off, with or without a unit of time. */
function periodOrOff(text: string): unknown {
  return /^0+[smhd]?$/.test(text) ? 0 : parseDuration(text);
}

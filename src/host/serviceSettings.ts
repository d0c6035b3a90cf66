import fs from 'node:fs';
import path from 'node:path';
import type { DataDirectory } from '../base/dataDirectory.ts';

export const SERVICE = 'courtd.service';
/** The data directory of the service unless its settings name another one (the default of --data). */
const SERVICE_DATA = '/var/lib/courtd';

/** Which daemon serves a data directory, as far as that is known without the daemon. */
export interface Service {
  /** The EnvironmentFile= of courtd.service, if that serves this data directory. */
  readonly settingsFile: string | undefined;
  /** The COURTD_ variables in it; else those of this command. */
  readonly settings: Readonly<Record<string, string>>;
}

/** Never throws. */
export function serviceOf(data: DataDirectory): Service {
  // systemd.exec(5): a unit with ConfigurationDirectory= has the variable.
  const settingsFile = path.join(process.env.CONFIGURATION_DIRECTORY ?? '/etc/courtd', 'courtd.env');
  try {
    const settings = given(readVariables(fs.readFileSync(settingsFile, 'utf8')));
    const served = fs.realpathSync(settings.COURTD_DATA ?? SERVICE_DATA);
    if (served === fs.realpathSync(data.path)) return { settingsFile, settings };
  } catch {
    // The package is not installed, or this user may not read its settings.
  }
  return { settingsFile: undefined, settings: given() };
}

/** @returns the variables of an EnvironmentFile=, as systemd.exec(5) reads it: the last one of a name counts. */
function readVariables(text: string): Record<string, string> {
  const variables: Record<string, string> = {};
  for (const line of text.replaceAll('\\\n', '').split(/\r?\n|\r/)) {
    const match = /^\s*(\w+)\s*=\s*(.*?)\s*$/.exec(line);
    if (match !== null) variables[match[1]!] = match[2]!.replace(/^(["'])(.*)\1$/, '$2');
  }
  return variables;
}

/** @returns those that are courtd's, and not empty. */
export function given(variables = process.env): Record<string, string> {
  const own = Object.entries(variables).filter(([name, value]) => name.startsWith('COURTD_') && value);
  return Object.fromEntries(own) as Record<string, string>;
}

import fs from 'node:fs';
import path from 'node:path';
import type { DataDirectory } from '../base/dataDirectory.ts';
import { readVariables, showUnit, type UnitProperties } from './systemdUnits.ts';

export const SERVICE = 'courtd.service';
/** Where the unit has its data unless its settings say otherwise (the default of --data). */
const UNIT_DATA = '/var/lib/courtd';

/** Whom this data directory is served by, as far as it can be told without its daemon. */
export interface Service {
  /** courtd.service, if it serves this data directory. */
  readonly unit: UnitProperties | undefined;
  /** The COURTD_ variables of the unit, if it does; else those of this command. */
  readonly settings: Readonly<Record<string, string>>;
}

/** Never throws. */
export async function serviceOf(data: DataDirectory): Promise<Service> {
  const unit = await showUnit(SERVICE, ['EnvironmentFiles', 'Environment']);
  const settings = unit && settingsOf(unit);
  const isServed = realPath(settings?.COURTD_DATA ?? UNIT_DATA) === realPath(data.path);
  return settings && isServed ? { unit, settings } : { unit: undefined, settings: given() };
}

/** @returns the COURTD_ variables that courtd.service gives its daemon. */
function settingsOf(unit: UnitProperties): Record<string, string> {
  // Quotes around a whole assignment, as systemctl prints one with blanks in it.
  const own = (unit.Environment ?? '').match(/"[^"]*"|\S+/g) ?? [];
  const texts = filesOf(unit).map((file) => {
    try {
      return fs.readFileSync(file, 'utf8');
    } catch {
      // The unit goes on without it, too.
      return '';
    }
  });
  const variables = [...own.map((one) => one.replace(/^"(.*)"$/, '$1')), ...texts].map(readVariables);
  return given(Object.assign({}, ...variables));
}

/** Its files: `/etc/courtd/courtd.env (ignore_errors=yes)`, one a line. */
export function filesOf({ EnvironmentFiles = '' }: UnitProperties): string[] {
  return EnvironmentFiles.split('\n').flatMap(
    (line) => /^(\/.*?)(?: \(ignore_errors=\w+\))?$/.exec(line)?.[1] ?? [],
  );
}

/** @returns those that are courtd's, and not empty. */
export function given(variables = process.env): Record<string, string> {
  const own = Object.entries(variables).filter(([name, value]) => name.startsWith('COURTD_') && value);
  return Object.fromEntries(own) as Record<string, string>;
}

function realPath(name: string): string {
  try {
    return fs.realpathSync(name);
  } catch {
    return path.resolve(name);
  }
}

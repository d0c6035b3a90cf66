import fs from 'node:fs';
import path from 'node:path';
import { MIN_FREE_BYTES } from '../../base/limits.ts';
import { asCaller } from '../../base/processIdentity.ts';
import { readVariables, showUnits, type UnitProperties } from '../../host/systemdUnits.ts';
import { parseSize } from '../options/optionParsers.ts';

export const SERVICE = 'courtd.service';
/** What `settingsOf` reads. */
export const SETTINGS_PROPERTIES = ['EnvironmentFiles', 'Environment'];
/** Where the unit has its data unless its settings say otherwise (the default of --data). */
const UNIT_DATA = '/var/lib/courtd';

/** Whom this data directory is served by, as far as it can be told without its daemon. */
export interface Service {
  /** courtd.service, where it serves this data directory. */
  readonly unit: UnitProperties | undefined;
  /** The COURTD_ variables that its daemon has: those of the unit, and before them those of this command. */
  readonly settings: Readonly<Record<string, string>>;
}

/** Never throws. */
export async function serviceOf(data: string): Promise<Service> {
  const unit = (await showUnits([SERVICE], SETTINGS_PROPERTIES))?.[0];
  const unitSettings = unit && settingsOf(unit);
  const isServed = unitSettings !== undefined && servesData(unitSettings, data);
  return {
    unit: isServed ? unit : undefined,
    settings: { ...(isServed && unitSettings), ...given(process.env) },
  };
}

/** @returns the COURTD_ variables that courtd.service gives its daemon. */
export function settingsOf(unit: UnitProperties): Record<string, string> {
  // Quotes around a whole assignment, as systemctl prints one with blanks in it.
  const own = (unit.Environment ?? '').match(/"[^"]*"|\S+/g) ?? [];
  const texts = filesOf(unit).map((file) => {
    try {
      return asCaller(() => fs.readFileSync(file, 'utf8'));
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

/** @param settings those of courtd.service. @returns whether this is its data directory. */
export function servesData({ COURTD_DATA = UNIT_DATA }: Record<string, string>, data: string): boolean {
  return realPath(COURTD_DATA) === realPath(data);
}

/** @returns COURTD_MIN_FREE in bytes: its default where it is not set, or wrong, which is the configuration's to tell. */
export function minFreeOf({ COURTD_MIN_FREE }: Readonly<Record<string, string>>): number {
  try {
    return COURTD_MIN_FREE === undefined ? MIN_FREE_BYTES : parseSize(COURTD_MIN_FREE);
  } catch {
    return MIN_FREE_BYTES;
  }
}

/** @returns those that are courtd's, and not empty. */
export function given(variables: NodeJS.ProcessEnv): Record<string, string> {
  const own = Object.entries(variables).filter(([name, value]) => name.startsWith('COURTD_') && value);
  return Object.fromEntries(own) as Record<string, string>;
}

function realPath(name: string): string {
  try {
    return asCaller(() => fs.realpathSync(name));
  } catch {
    return path.resolve(name);
  }
}

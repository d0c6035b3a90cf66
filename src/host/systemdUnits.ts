import { askTool } from './systemTool.ts';

/** Properties of a unit, as `systemctl show` prints them; the lines of a repeated one are joined. */
export type UnitProperties = Readonly<Record<string, string>>;

/**
 * @returns the properties of each unit, in the order of `units`; undefined if systemd is not running, or does not know the
 * first unit.
 */
export async function showUnits(
  units: readonly string[],
  properties: readonly string[],
): Promise<readonly UnitProperties[] | undefined> {
  const names = ['LoadState', ...properties].join(',');
  const { status, stdout } = await askTool(
    'systemctl',
    'show',
    '--no-pager',
    `--property=${names}`,
    ...units,
  );
  if (status !== 0) return undefined;
  const shown = stdout.trim().split(/\n\n+/).map(propertiesOf);
  return shown.length === units.length && shown[0]?.LoadState === 'loaded' ? shown : undefined;
}

function propertiesOf(text: string): UnitProperties {
  const properties: Record<string, string> = {};
  for (const line of text.split('\n')) {
    const at = line.indexOf('=');
    const name = line.slice(0, at);
    const before = properties[name];
    properties[name] = `${before === undefined ? '' : `${before}\n`}${line.slice(at + 1)}`;
  }
  return properties;
}

/** @param result of a nightly service: one that was skipped, because it is not asked for, has not failed. */
export function hasFailed(result: string): boolean {
  return !['success', 'exec-condition'].includes(result);
}

/** @returns the variables of an EnvironmentFile=, as systemd.exec(5) reads it: the last one of a name counts. */
export function readVariables(text: string): Record<string, string> {
  const variables: Record<string, string> = {};
  for (const line of text.replaceAll('\\\n', '').split(/\r?\n|\r/)) {
    const match = /^\s*(\w+)\s*=\s*(.*?)\s*$/.exec(line);
    if (match !== null) variables[match[1]!] = match[2]!.replace(/^(["'])(.*)\1$/, '$2');
  }
  return variables;
}

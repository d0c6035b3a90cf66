import { askTool } from './systemTool.ts';

/** Properties of a unit, as `systemctl show` prints them; the lines of a repeated one are joined. */
export type UnitProperties = Readonly<Record<string, string>>;

/** @returns the properties of a unit; undefined if systemd is not running, or does not know it. */
export async function showUnit(
  unit: string,
  properties: readonly string[],
): Promise<UnitProperties | undefined> {
  const names = ['LoadState', ...properties].join(',');
  const { status, stdout } = await askTool('systemctl', 'show', '--no-pager', `--property=${names}`, unit);
  const shown: Record<string, string> = {};
  for (const line of stdout.trim().split('\n')) {
    const at = line.indexOf('=');
    const name = line.slice(0, at);
    const before = shown[name];
    shown[name] = `${before === undefined ? '' : `${before}\n`}${line.slice(at + 1)}`;
  }
  return status === 0 && shown.LoadState === 'loaded' ? shown : undefined;
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

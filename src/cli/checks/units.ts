import { type Finding, fail, ok, warn } from '../../base/finding.ts';
import { showUnits, type UnitProperties } from '../../host/systemdUnits.ts';
import { type Check, type Fault, together } from './check.ts';

const UNITS = [
  'courtd.service',
  'courtd.socket',
  'courtd-backup.timer',
  'courtd-prune.timer',
  'courtd-backup.service',
  'courtd-prune.service',
] as const;
type Unit = (typeof UNITS)[number];

export const units: Check = {
  name: 'units',
  look: async ({ unit, noUnit }) => {
    if (unit === undefined) return ok(`${noUnit}: nothing is looked at.`);
    const shown = await showUnits(UNITS, ['UnitFileState', 'ActiveState', 'Result']);
    if (shown === undefined)
      return warn('systemd does not tell of the units.', 'Look at "systemctl status courtd".');
    const findings = UNITS.flatMap((name, i) => about(name, shown[i]!));
    return together(findings, ok('courtd.service, courtd.socket and the timers are enabled and active.'));
  },
};

/** @param result of a nightly service: one that was skipped, because it is not asked for, has not failed. */
export function hasFailed(result: string): boolean {
  return !['success', 'exec-condition'].includes(result);
}

function about(
  name: Unit,
  { LoadState, UnitFileState, ActiveState, Result = 'success' }: UnitProperties,
): Finding[] {
  const isNightly = name.startsWith('courtd-');
  const finding = isNightly ? warn : fail;
  if (LoadState !== 'loaded') {
    return [finding(`There is no ${name}.`, 'Install the package of courtd again.')];
  }
  // Started by their timers.
  if (isNightly && name.endsWith('.service')) {
    if (!hasFailed(Result)) return [];
    return [warn(`The last run of ${name} has failed (${Result}).`, `"journalctl -u ${name}" says why.`)];
  }
  const found: Finding[] = [];
  if (UnitFileState !== 'enabled') {
    found.push(
      finding(
        `${name} is ${UnitFileState || 'not enabled'}: it does not start with the box.`,
        `"sudo systemctl enable --now ${name}".`,
      ),
    );
  }
  if (/^(activating|deactivating|reloading)$/.test(ActiveState ?? '')) {
    found.push(warn(`${name} is ${ActiveState} just now.`, 'Run "courtd check" again in a few seconds.'));
  } else if (ActiveState !== 'active') {
    found.push(
      finding(
        `${name} is ${ActiveState}.`,
        `"sudo systemctl start ${name}", and "journalctl -u ${name}" says why.${name === 'courtd.socket' ? ' Who has its port: "sudo ss -ltnp".' : ''}`,
      ),
    );
  }
  return found;
}

/**
 * What systemd/courtd.service takes away, as `systemctl show` prints it: those values, or one that is as strict. A test holds it
 * against the unit.
 */
export const SANDBOX: Readonly<Record<string, (value: string) => boolean>> = {
  User: (value) => value !== '' && value !== 'root',
  NoNewPrivileges: isYes,
  CapabilityBoundingSet: isNothing,
  AmbientCapabilities: isNothing,
  RestrictSUIDSGID: isYes,
  PrivateUsers: (value) => ['yes', 'self', 'identity'].includes(value),
  ProtectSystem: (value) => value === 'strict',
  ProtectHome: isYes,
  PrivateMounts: isYes,
  PrivateTmp: (value) => ['yes', 'disconnected'].includes(value),
  TemporaryFileSystem: (value) => value.split(' ').some((place) => /^\/run(:|$)/.test(place)),
  BindPaths: isNothing,
  BindReadOnlyPaths: (value) =>
    value.split(' ').every((place) => /^-?(\/run\/systemd\/notify(:|$)|$)/.test(place)),
  PrivateIPC: isYes,
  InaccessiblePaths: (value) =>
    ['/dev/shm', '/dev/mqueue'].every((place) =>
      value.split(' ').some((one) => one.replace('-', '') === place),
    ),
  PrivateDevices: isYes,
  DevicePolicy: (value) => value === 'closed' || value === 'strict',
  ProtectProc: (value) => value === 'invisible' || value === 'noaccess' || value === 'ptraceable',
  ProcSubset: (value) => value === 'pid',
  PrivateNetwork: isYes,
  RestrictAddressFamilies: (value) => value === 'AF_UNIX' || value === 'none',
  IPAddressDeny: (value) => value.includes('0.0.0.0/0') && value.includes('::/0'),
  IPAddressAllow: isNothing,
  ProtectKernelTunables: isYes,
  ProtectKernelModules: isYes,
  ProtectKernelLogs: isYes,
  ProtectControlGroups: (value) => ['yes', 'private', 'strict'].includes(value),
  ProtectClock: isYes,
  ProtectHostname: (value) => ['yes', 'private'].includes(value),
  RestrictNamespaces: isYes,
  RestrictRealtime: isYes,
  LockPersonality: isYes,
  RemoveIPC: isYes,
  SystemCallArchitectures: (value) => value === 'native',
  // A list of what is allowed, without one that only administrators need.
  SystemCallFilter: (value) =>
    value !== '' && !value.startsWith('~') && !/(^| )(mount|reboot|setuid)( |$)/.test(value),
};

export const SANDBOX_PROPERTIES: readonly string[] = Object.keys(SANDBOX);

export const sandbox: Check = {
  name: 'sandbox',
  look: ({ unit, noUnit }) => {
    if (unit === undefined) return ok(`${noUnit}: nothing is looked at.`);
    return together([aboutUnit(unit)], ok('courtd.service has the sandbox that it came with.'));
  },
};

function aboutUnit(unit: UnitProperties): Fault {
  // An older systemd does not know all of them.
  const loose = SANDBOX_PROPERTIES.filter((name) => unit[name] !== undefined && !SANDBOX[name]!(unit[name]));
  if (loose.length === 0) return undefined;
  const overrides = unit.DropInPaths ? ` (${unit.DropInPaths})` : '';
  return warn(
    `An override${overrides} has loosened the sandbox of courtd.service: ${loose.join(', ')}.`,
    'Look at "systemctl cat courtd.service", and take the line out of the override with "sudo systemctl edit courtd.service".',
  );
}

function isYes(value: string): boolean {
  return value === 'yes';
}

function isNothing(value: string): boolean {
  return value === '';
}

import type { DataDirectory } from '../../base/dataDirectory.ts';
import { isoTime } from '../../base/units.ts';
import { hasFailed, showUnits, type UnitProperties } from '../../host/systemdUnits.ts';
import { lastBackupMs } from '../../store/backup/lastBackup.ts';
import { type Finding, fail, ok, warn } from '../finding.ts';
import { backupProblems } from '../problems.ts';
import { problem } from '../problemTexts.ts';
import { type Check, together } from './check.ts';

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
  look: async ({ data, unit, noUnit }) => {
    if (unit === undefined) return ok(`${noUnit}: nothing is looked at.`);
    const shown = await showUnits(UNITS, ['UnitFileState', 'ActiveState', 'Result']);
    if (shown === undefined)
      return warn('systemd does not tell of the units.', 'Look at "systemctl status courtd".');
    const findings = UNITS.flatMap((name, i) => about(data, name, shown[i]!));
    return together(findings, ok('courtd.service, courtd.socket and the timers are enabled and active.'));
  },
};

function backupFailed(data: DataDirectory): Finding[] {
  const store = { last_backup_at: isoTime(lastBackupMs(data) ?? null) };
  return backupProblems({ store, oldestMs: undefined, hasBackupFailed: true }, Date.now());
}

function about(
  data: DataDirectory,
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
    return name === 'courtd-prune.service' ? [problem('prune_failed')] : backupFailed(data);
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

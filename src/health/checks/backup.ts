import fs from 'node:fs';
import path from 'node:path';
import { timeOfName } from '../../base/atomicFile.ts';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { actAsWriter, asCaller } from '../../base/processIdentity.ts';
import { DAY_MS, isoTime, span } from '../../base/units.ts';
import { BACKUP_NAME, lastBackupMs } from '../../store/backup/lastBackup.ts';
import { readHeader } from '../../store/layout/fileHeader.ts';
import { SCHEMA_VERSION } from '../../store/layout/schema.ts';
import { type Finding, fail, ok, warn } from '../finding.ts';
import { backupProblems } from '../problems.ts';
import type { Check } from './check.ts';

const TRY =
  '"sudo systemctl start courtd-backup" makes one, and "journalctl -u courtd-backup" says what it wrote.';

export const backup: Check = {
  name: 'backup',
  look: ({ settings: { COURTD_BACKUP_DIR: place }, data }) => {
    if (place === undefined) {
      return warn(
        'There is no nightly backup: COURTD_BACKUP_DIR is not set.',
        'Set it in /etc/courtd/courtd.env, at best to a directory on another disk; /var/backups/courtd is there.',
      );
    }
    if (asCaller(() => fs.statSync(place, { throwIfNoEntry: false }))?.isDirectory() !== true) {
      return fail(
        `There is no directory ${place} for backups (COURTD_BACKUP_DIR).`,
        'Mount its disk, or make it.',
      );
    }
    // Such as a disk of another user's: root is who writes there.
    const back = asCaller(() => actAsWriter(place));
    try {
      return aboutNewest(place, data);
    } finally {
      back();
    }
  },
};

function aboutNewest(place: string, data: DataDirectory): Finding {
  const files = fs.readdirSync(place, { withFileTypes: true }).filter((entry) => entry.isFile());
  const times = files.flatMap(({ name }) => timeOf(name) ?? []);
  // One that seems to come from the future is of a clock that was ahead.
  const past = times.filter(({ ms }) => ms <= Date.now() + DAY_MS).sort((a, b) => b.ms - a.ms);
  const newest = past[0];
  if (newest === undefined) return fail(`There is no backup in ${place}.`, TRY);
  const file = path.join(place, newest.name);
  const { isOurs, version } = readHeader(file);
  if (!isOurs || version < 1) {
    return fail(
      `The newest backup, ${file}, is no database of courtd.`,
      `Remove it, and look at that disk. ${TRY}`,
    );
  }
  if (version > SCHEMA_VERSION) {
    return warn(`The newest backup, ${file}, is of a newer courtd than this one.`, TRY);
  }
  // What `status` goes by, as far as it is known.
  const lastMs = lastBackupMs(data) ?? newest.ms;
  const facts = { store: { last_backup_at: isoTime(lastMs) }, oldestMs: 0, hasBackupFailed: false };
  const [old] = backupProblems(facts, Date.now());
  if (old !== undefined) return old;
  const told = span(Math.max(0, Date.now() - newest.ms) / 1_000);
  const isSameDisk = fs.statSync(place).dev === asCaller(() => fs.statSync(data.path)).dev;
  const where = isSameDisk ? ' It is on the same disk as the events: another one protects against more.' : '';
  return ok(`The newest backup is ${told} old: ${file}, ${isoTime(newest.ms)}.${where}`);
}

function timeOf(name: string): { name: string; ms: number } | undefined {
  const ms = timeOfName(BACKUP_NAME.exec(name)?.[1] ?? '');
  return ms === undefined ? undefined : { name, ms };
}

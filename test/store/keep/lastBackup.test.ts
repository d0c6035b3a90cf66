import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { DataDirectory } from '../../../src/base/dataDirectory.ts';
import { lastBackupMs, noteBackup } from '../../../src/store/keep/lastBackup.ts';
import { temporaryFolder } from '../../harness/daemon.ts';

const [FIRST, SECOND] = [Date.UTC(2026, 2, 14), Date.UTC(2026, 2, 15, 12, 0, 0, 7)];

t.test('the time of the last backup, for the group to read', (t) => {
  const folder = temporaryFolder(t);
  t.equal(lastBackupMs(new DataDirectory(folder)), undefined);
  for (const ms of [FIRST, SECOND]) {
    noteBackup(new DataDirectory(folder), ms, '/mnt/usb');
    t.equal(lastBackupMs(new DataDirectory(folder)), ms);
  }
  t.equal(fs.statSync(path.join(folder, 'courtd.backup')).mode & 0o777, 0o660);
  fs.writeFileSync(path.join(folder, 'courtd.backup'), 'yesterday');
  t.equal(lastBackupMs(new DataDirectory(folder)), undefined, 'whatever else is there is no time');
  t.end();
});

t.test('a link in its place is not followed, and a pipe not waited for', (t) => {
  const folder = temporaryFolder(t);
  const [note, elsewhere] = [path.join(folder, 'courtd.backup'), path.join(folder, 'elsewhere')];
  fs.writeFileSync(elsewhere, new Date(FIRST).toISOString());
  fs.symlinkSync(elsewhere, note);
  noteBackup(new DataDirectory(folder), SECOND, '/mnt/usb');
  t.equal(lastBackupMs(new DataDirectory(folder)), undefined);
  t.equal(fs.readFileSync(elsewhere, 'utf8'), new Date(FIRST).toISOString());
  fs.rmSync(note);
  t.equal(spawnSync('mkfifo', [note]).status, 0);
  noteBackup(new DataDirectory(folder), SECOND, '/mnt/usb');
  t.equal(lastBackupMs(new DataDirectory(folder)), undefined);
  t.end();
});

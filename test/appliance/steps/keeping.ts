import { createHash } from 'node:crypto';
import fs from 'node:fs';
import { EVENING } from '../event.ts';
import type { Venue } from '../venue.ts';
import { expect, type Walk } from '../walk.ts';

const BACKUPS = '/var/backups/courtd';
const SETTINGS = '/etc/courtd/courtd.env';
const SERVICE = 'courtd.service';

/** Backups, restoring them, retention, and the timers of both. */
export async function keeping(walk: Walk, venue: Venue): Promise<void> {
  const { box } = venue;
  const before = venue.ledger.copy();
  let [busy, quiet] = ['', ''];
  let answers = '';

  await walk.step('backup under load', async () => {
    const saw = await venue.withoutLoss('backup', venue.load.some, async () => {
      busy = await backup(venue);
    });
    return `${size(venue, busy)}; ${saw}; ${await venue.check('backup')}`;
  });

  await walk.step('backup by its timer', async () => {
    await box.must('systemctl', 'is-active', 'courtd-backup.timer');
    await box.must('systemctl', 'start', 'courtd-backup.service');
    expect((await backups(venue)).length === 1, 'a backup was made though none was asked for');
    await box.must('sh', '-c', `echo COURTD_BACKUP_DIR=${BACKUPS} >> ${SETTINGS}`);
    answers = await ask(venue);
    await box.must('systemctl', 'start', 'courtd-backup.service');
    const made = (await backups(venue)).filter((file) => file !== busy);
    expect(made.length === 1, `${made.length} backups were made`);
    quiet = made[0]!;
    return `${quiet}, ${size(venue, quiet)}; off until COURTD_BACKUP_DIR is set`;
  });

  await walk.step('restore while the daemon runs', async () => {
    const { status, stderr } = await venue.courtd('restore', quiet);
    expect(status === 1, `"courtd restore" ended with ${status}: ${stderr}`);
    await venue.expectUp();
    return stderr.trim();
  });

  await walk.step('restore', async () => {
    await venue.withoutLoss('after', venue.load.some, async () => {});
    const said = await restore(venue, quiet);
    venue.ledger.forget('after');
    expect((await ask(venue)) === answers, 'the restored backup answers otherwise than the original did');
    return `${said}; every answer is as it was; ${await venue.check()}`;
  });

  await walk.step('restore with --salvage', async () => {
    await venue.withoutLoss('salvaged', venue.load.some, async () => {});
    const said = await restore(venue, quiet, '--salvage');
    return `${said}; ${await venue.check()}`;
  });

  await walk.step('restore of the backup under load', async () => {
    const said = await restore(venue, busy);
    await venue.rewind(before);
    return `${said}; ${await venue.check()}`;
  });

  await walk.step('prune under load', async () => {
    const prune = ['prune', '--older-than', '1s', '--type', 'PLAYER_POSITION'];
    const dryRun = await venue.courtd(...prune, '--dry-run', '--json');
    let said = '';
    // It gives way: even beside calm cameras a slow machine takes three minutes.
    const saw = await venue.withoutLoss(
      EVENING,
      venue.load.around,
      async () => {
        const { status, stderr } = await venue.courtd(...prune, '--yes');
        expect(status === 0, `"courtd prune" ended with ${status}: ${stderr}`);
        said = stderr.trim();
      },
      0,
    );
    const pruned = venue.ledger.prunePositions();
    expect(
      dryRun.stdout.includes(String(pruned)),
      `--dry-run said ${dryRun.stdout}${dryRun.stderr}, not ${pruned}`,
    );
    return `${said} As --dry-run said; ${saw}; ${await venue.check()}`;
  });
}

/** @returns the file. */
async function backup(venue: Venue): Promise<string> {
  const { status, stdout, stderr } = await venue.courtd('backup', BACKUPS, '--json');
  expect(status === 0, `"courtd backup" ended with ${status}: ${stderr}`);
  return JSON.parse(stdout).path;
}

async function backups({ box }: Venue): Promise<string[]> {
  return (await box.must('find', BACKUPS, '-name', 'courtd-*.db')).split('\n').sort();
}

/** @returns what it says. */
async function restore(venue: Venue, file: string, ...options: string[]): Promise<string> {
  const { box } = venue;
  // The socket as well: a request that comes in would start the daemon again.
  await box.must('systemctl', 'stop', 'courtd.socket', SERVICE);
  const { status, stderr } = await venue.courtd('restore', file, ...options);
  expect(status === 0, `"courtd restore" ended with ${status}: ${stderr}`);
  await box.must('systemctl', 'start', SERVICE);
  await venue.expectUp();
  return stderr.trim().split('\n')[0]!;
}

/** @returns the answers to queries of every kind, as one hash. */
async function ask(venue: Venue): Promise<string> {
  const hash = createHash('sha256');
  hash.update(await venue.box.must('courtd', 'session', 'list', '--json'));
  hash.update(await venue.box.must('courtd', 'session', 'show', venue.ledger.sessions[0]!, '--json'));
  for (const lines of await venue.exportAll('csv')) hash.update(lines.join('\n'));
  return hash.digest('hex');
}

function size({ box }: Venue, file: string): string {
  return `${(fs.statSync(box.root + file).size / 1e6).toFixed(0)} MB`;
}

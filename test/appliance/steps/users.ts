import type { Venue } from '../venue.ts';
import { expect, type Walk } from '../walk.ts';

const DATA = '/var/lib/courtd';

/** Who may use the commands, and what root leaves behind. */
export async function users(walk: Walk, venue: Venue): Promise<void> {
  const { box } = venue;
  await walk.step('a member of the group courtd', async () => {
    await box.must('useradd', '--groups', 'courtd', 'technician');
    const as = ['runuser', '-u', 'technician', '--', 'courtd'] as const;
    const sessions = await box.must(...as, 'session', 'list', '--json');
    expect(
      JSON.parse(sessions).length === venue.ledger.sessions.length,
      'sees other sessions than there are',
    );
    await box.must(...as, 'token', 'list');
    return `sees ${JSON.parse(sessions).length} sessions and the tokens`;
  });

  await walk.step('another user', async () => {
    const { status, stdout, stderr } = await box.run(
      'runuser',
      '-u',
      'nobody',
      '--',
      'courtd',
      'session',
      'list',
    );
    expect(status === 1 && stdout === '', `"courtd session list" ended with ${status}: ${stdout}`);
    expect(/sudo|group courtd/.test(stderr) && stderr.trim().split('\n').length === 1, `says: ${stderr}`);
    return stderr.trim();
  });

  await walk.step('root while the daemon is stopped', async () => {
    await box.must('systemctl', 'stop', 'courtd.socket', 'courtd.service');
    for (const command of [
      ['session', 'list'],
      ['token', 'rotate'],
      ['export', venue.ledger.sessions[0]!],
    ]) {
      await box.must('courtd', ...command);
    }
    const files = (await box.must('find', DATA, '-mindepth', '1', '-printf', '%p\n')).split('\n');
    const open = `for file; do test -r "$file" && test -w "$file" || echo "$file"; done`;
    const closed = await box.must('runuser', '-u', 'courtd', '--', 'sh', '-c', open, 'sh', ...files);
    expect(closed === '', `the daemon cannot open ${closed}`);
    const others = await box.must('find', DATA, '-type', 'f', '-perm', '/007');
    expect(others === '', `open to everyone: ${others}`);
    await box.must('systemctl', 'start', 'courtd.service');
    return `${files.length} files, all open to the daemon and none to others; ${await venue.check()}`;
  });
}

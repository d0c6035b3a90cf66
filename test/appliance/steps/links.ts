import fs from 'node:fs';
import type { Venue } from '../venue.ts';
import { expect, type Walk } from '../walk.ts';

const DATA = '/var/lib/courtd';
const OUTSIDE = '/etc/outside';
const BACKUPS = '/root/backups';
const HOME = '/home/technician';
/** Every name in the data directory that a command or the daemon opens. */
const NAMES = ['', '-wal', '-shm', '-journal']
  .map((end) => `courtd.db${end}`)
  .concat('courtd.lock', 'courtd.clock');
const SENTENCE = /^courtd: [^\n]+$/;

/** A member of the group would have root write where he may not; and what the daemon itself can reach. */
export async function links(walk: Walk, venue: Venue): Promise<void> {
  const { box } = venue;
  const session = venue.ledger.sessions[0]!;
  const as = (user: string) => ['runuser', '-u', user, '--'] as const;
  const backup = `${BACKUPS}/one.db`;
  const commands = [
    ['session', 'list'],
    ['session', 'show', session],
    ['event', 'show', session, 'e'],
    ['export', session, '-o', '/root/out.csv'],
    ['token', 'rotate'],
    ['token', 'list'],
    ['token', 'revoke', '99'],
    ['prune', '--older-than', '365d'],
    ['backup', '/root/other.db'],
    ['restore', backup],
    ['serve', '--port', '0', '--host', '127.0.0.1'],
  ];

  await walk.step('links of a member in the way of root', async () => {
    await box.must('systemctl', 'stop', 'courtd.socket', 'courtd.service');
    await box.must('mkdir', '-p', '-m', '700', OUTSIDE, BACKUPS);
    fs.writeFileSync(`${box.root}${OUTSIDE}/precious`, 'mine\n');
    await box.must('courtd', 'backup', backup);
    const before = await contents(venue);
    let refused = 0;
    for (const [i, name] of NAMES.entries()) {
      const file = `${DATA}/${name}`;
      const to = `${OUTSIDE}/${i % 2 === 0 ? 'new' : 'precious'}`;
      const aside = `test ! -e ${file} || mv ${file} ${DATA}/kept`;
      await box.must(...as('technician'), 'sh', '-c', `${aside}; ln -s ${to} ${file}`);
      for (const args of commands) {
        const said = await box.run('timeout', '20', 'courtd', ...args);
        const what = `"courtd ${args.join(' ')}" over ${name} ended with ${said.status}: ${said.stdout}${said.stderr}`;
        expect(said.status === 1 && said.stdout === '' && SENTENCE.test(said.stderr.trim()), what);
        expect((await contents(venue)) === before, `${what}, and something outside has changed`);
        refused++;
      }
      await box.must('sh', '-c', `rm ${file}; test ! -e ${DATA}/kept || mv ${DATA}/kept ${file}`);
    }
    return `${refused} commands, each refused with a sentence; nothing outside is made or changed`;
  });

  await walk.step('links of a member in the way of an export and a restore', async () => {
    await box.must('mkdir', '-p', HOME);
    await box.must('chown', 'technician:', HOME);
    const before = await contents(venue);
    await box.must(...as('technician'), 'ln', '-s', `${OUTSIDE}/precious`, `${HOME}/out.csv`);
    const exported = await box.run('courtd', 'export', session, '-o', `${HOME}/out.csv`);
    expect(exported.status === 1 && SENTENCE.test(exported.stderr.trim()), exported.stderr);
    await box.must('cp', backup, `${HOME}/backup.db`);
    await box.must(...as('technician'), 'ln', '-s', '/etc/shadow', `${HOME}/backup.db-wal`);
    const restored = await box.run('courtd', 'restore', `${HOME}/backup.db`);
    expect(restored.status === 1 && SENTENCE.test(restored.stderr.trim()), restored.stderr);
    expect((await contents(venue)) === before, 'something outside has changed');
    return `${exported.stderr.trim()} ${restored.stderr.trim()}`;
  });

  await walk.step('every command as a member, as root, and then the daemon', async () => {
    const place = `${HOME}/mine.db`;
    for (const [user, own] of [
      ['technician', place],
      ['root', backup],
    ] as const) {
      await box.must('rm', '-f', own, `${DATA}/out.csv`);
      for (const args of [
        ['session', 'list'],
        ['session', 'show', session],
        ['export', session, '-o', `${DATA}/out.csv`],
        ['token', 'rotate'],
        ['token', 'list'],
        ['backup', own],
        ['restore', own],
      ]) {
        await box.must(...as(user), 'courtd', ...args);
      }
    }
    await box.must(
      'sh',
      '-c',
      `rm -rf ${DATA}/out.csv ${DATA}/courtd.db.replaced-* ${HOME}/* ${BACKUPS} /root/out.csv`,
    );
    await box.must('systemctl', 'start', 'courtd.socket', 'courtd.service');
    await venue.expectUp();
    return `${await venue.withoutLoss('owners', venue.load.around, async () => {})}; ${await venue.check()}`;
  });

  await walk.step('what the daemon can write and reach', async () => {
    const inside = ['nsenter', '--target', await venue.pid(), '--mount', ...as('courtd'), 'find', '/'];
    const pruned = ['(', '-path', '/proc', '-o', '-path', '/sys', '-o', '-path', DATA, ')', '-prune', '-o'];
    const found = await box.run(
      ...(inside as [string, ...string[]]),
      ...pruned,
      '!',
      '-type',
      'l',
      '-writable',
      '-print',
    );
    const writable = found.stdout.trim().split('\n').sort();
    const expected =
      /^\/(dev\/(tty|u?random|full|zero|null|pts\/ptmx|ptmx)|(var\/)?tmp|run\/systemd\/notify|run\/courtd(\/(status.json|metrics.prom))?)$/;
    const more = writable.filter((file) => !expected.test(file));
    expect(writable.includes('/tmp') && more.length === 0, `it can write ${more.join(' ')}: ${found.stderr}`);
    return `beside ${DATA}: ${writable.join(' ')}`;
  });
}

/** @returns what is in the folder that no command has any business in. */
function contents({ box }: Venue): Promise<string> {
  return box.must('sh', '-c', `ls -ln ${OUTSIDE}; cat ${OUTSIDE}/*`);
}

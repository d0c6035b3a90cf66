import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CopyStatus, ShipStatus, Status } from '../../../src/health/boxStatus.ts';
import { makePair } from '../../harness/certificates.ts';
import { Authority, permissionsOf } from '../../harness/natsCredentials.ts';
import { natsProgram } from '../../harness/natsProgram.ts';
import { number, type Venue } from '../venue.ts';
import { expect, type Walk } from '../walk.ts';

const SETTINGS = '/etc/courtd/courtd.env';
const SHIPPER = 'courtd-ship.service';
const COPIER = 'courtd-copy.service';
const UNITS = '/etc/systemd/system';
const CREDENTIALS = `/run/credentials/${SHIPPER}`;
const NAME = 'venue-7';
const NATS = 'tls://127.0.0.1:4222';
const HQ = '/etc/nats';
const AS_HQ = [`COURTD_FLEET_CREDS=${HQ}/hq.creds`, `COURTD_FLEET_CA=${HQ}/hq.crt`];
const LOOK_MS = 500;

/** What the shipper must not be able to do, as the user that it runs as and with what its unit leaves it. */
const FORBIDDEN = [
  'ls /var/lib/courtd',
  'cat /var/lib/courtd/courtd.db',
  'cat /etc/courtd/ship.creds',
  'ls /var/backups',
  'ls /media',
  'test -e /run/systemd/private',
  'touch /etc/courtd/mine',
  'touch /run/courtd/mine',
];
const PERMITTED = [
  `test -s ${CREDENTIALS}/creds`,
  `test -s ${CREDENTIALS}/ca`,
  'test -w /run/courtd-feed.sock',
  'test -s /run/courtd/status.json',
  'test -w /run/courtd/ship',
];

/** The box ships under systemd to headquarters in the same container, and keeps a copy on a stick. */
export async function shipping(walk: Walk, venue: Venue): Promise<void> {
  const { box } = venue;
  await walk.step('shipping to NATS', async () => {
    const before = await box.show(SHIPPER, 'Result');
    expect(before === 'exec-condition', `without a URL ${SHIPPER} has the result ${before}`);
    await makeHeadquarters(venue);
    fs.appendFileSync(box.root + SETTINGS, `COURTD_SHIP_URL=${NATS}\nCOURTD_SHIP_BOX=${NAME}\n`);
    await box.must('systemctl', 'restart', SHIPPER, 'courtd.service');
    // Where the kernel of a container has no BPF, the unit's firewall does nothing.
    const { state } = await shipStatus(
      venue,
      (one) => one.state === 'current' || one.error?.includes('IPAddressAllow=') === true,
    );
    const allowance = `${UNITS}/${SHIPPER}.d/override.conf`;
    fs.mkdirSync(path.dirname(box.root + allowance), { recursive: true });
    fs.writeFileSync(box.root + allowance, '[Service]\nIPAddressAllow=127.0.0.1\n');
    await box.must('systemctl', 'daemon-reload');
    await box.must('systemctl', 'restart', SHIPPER);
    return `${await atHeadquarters(venue)}; ${state === 'current' ? 'no BPF' : 'nothing went out before IPAddressAllow='}`;
  });

  await walk.step('what the shipper may see', async () => {
    const ids = [
      '-S',
      await box.must('id', '-u', 'courtd-ship'),
      '-G',
      await box.must('id', '-g', 'courtd-ship'),
    ];
    const within = ['-t', await box.show(SHIPPER, 'MainPID'), '-m', '-U', '-n', ...ids];
    const can = async (command: string) =>
      (await box.run('nsenter', ...within, 'sh', '-c', command)).status === 0;
    for (const command of FORBIDDEN) expect(!(await can(command)), `the shipper can: ${command}`);
    for (const command of PERMITTED) expect(await can(command), `the shipper cannot: ${command}`);
    return `${FORBIDDEN.length} things are closed to it; the feed and its credentials are not`;
  });

  await walk.step('a copy on a stick: away at first, then plugged in', async () => {
    await box.must('install', '-d', '-m', '0755', '/media/copy', '/stick', `${UNITS}/media-copy.mount.d`);
    await box.must('mount', '-t', 'tmpfs', '-o', 'size=64M', 'tmpfs', '/stick');
    await box.must('chown', 'courtd:courtd', '/stick');
    // A container has no devices.
    const stick = '[Mount]\nWhat=/stick\nType=none\nOptions=\nOptions=bind\n';
    fs.writeFileSync(`${box.root}${UNITS}/media-copy.mount.d/stick.conf`, stick);
    await box.must('cp', '/usr/share/doc/courtd/examples/media-copy.mount', UNITS);
    await box.must('systemctl', 'daemon-reload');
    fs.appendFileSync(box.root + SETTINGS, 'COURTD_COPY_DIR=/media/copy\n');
    await box.must('systemctl', 'restart', COPIER, 'courtd.service');
    await copyStatus(venue, ({ error }) => error?.startsWith('Cannot write to') === true);
    const left = await box.must('ls', '-A', '/media/copy');
    expect(left === '', `without a stick there is ${left} in /media/copy`);
    await box.must('systemctl', 'start', 'media-copy.mount');
    await copyStatus(venue, ({ error, behind_events }) => error === null && behind_events === 0);
    const log = ['tail', '--json', '--after', '0'];
    const [own, copied] = [await digest(venue, log), await digest(venue, [...log, '--data', '/media/copy'])];
    expect(own === copied, `the box has ${own}, the stick ${copied}`);
    return 'the stick has the log of the box';
  });
}

/** @returns once headquarters has what the box has, in its order: what that is. */
export async function atHeadquarters(venue: Venue): Promise<string> {
  await shipStatus(venue, ({ state, behind_events }) => state === 'current' && behind_events === 0);
  const own = await digest(venue, ['tail', '--json', '--after', '0']);
  const theirs = await digest(venue, ['fleet', 'tail', NATS]);
  expect(own === theirs, `the box has ${own}, headquarters ${theirs}`);
  return `headquarters has all ${own.split(' ')[0]} events, in their order`;
}

const shipStatus = (venue: Venue, isSo: (ship: ShipStatus) => boolean) =>
  statusUntil(venue, ({ ship }) => (ship !== null && isSo(ship) ? ship : undefined));

const copyStatus = (venue: Venue, isSo: (copy: CopyStatus) => boolean) =>
  statusUntil(venue, ({ copy }) => (copy !== null && isSo(copy) ? copy : undefined));

/** @returns what a look at `courtd status` finds, once it does. */
async function statusUntil<Part>({ box }: Venue, find: (status: Status) => Part | undefined): Promise<Part> {
  for (;;) {
    const found = find(JSON.parse((await box.run('courtd', 'status', '--json')).stdout));
    if (found !== undefined) return found;
    await sleep(LOOK_MS);
  }
}

/** @returns how many events a command prints, and the SHA-256 of them. */
async function digest({ box }: Venue, command: readonly string[]): Promise<string> {
  const hash = createHash('sha256');
  let events = 0;
  for await (const line of box.lines('env', ...AS_HQ, 'courtd', ...command)) {
    // As text: JSON.parse would round long numbers.
    hash.update(line.slice(line.indexOf('"event":'))).update('\n');
    events++;
  }
  return `${number(events)} ${hash.digest('hex')}`;
}

/** A server of NATS that systemd starts, with TLS, credentials, and the fleet's streams. */
async function makeHeadquarters({ box }: Venue): Promise<void> {
  const within = (file: string) => box.root + file;
  fs.copyFileSync(await natsProgram(), within('/usr/local/bin/nats-server'));
  fs.mkdirSync(within(HQ));
  const { cert } = makePair(within(HQ), 'hq');
  const authority = new Authority();
  const files = {
    [`${HQ}/nats.conf`]: [
      'listen: "127.0.0.1:4222"',
      'max_payload: 9MB',
      'jetstream { store_dir: "/var/lib/nats", sync_interval: always }',
      `tls { cert_file: "${HQ}/hq.crt", key_file: "${HQ}/hq.key" }`,
      authority.configuration,
    ],
    [`${HQ}/hq.creds`]: [authority.issue('hq').creds],
    [`${UNITS}/nats.service`]: [
      '[Service]',
      `ExecStart=/usr/local/bin/nats-server -c ${HQ}/nats.conf`,
      '[Install]',
      'WantedBy=multi-user.target',
    ],
    '/etc/courtd/ship.creds': [authority.issue(NAME, permissionsOf(NAME)).creds],
    '/etc/courtd/ship.ca': [fs.readFileSync(cert, 'utf8')],
  };
  for (const [file, lines] of Object.entries(files)) {
    const mode = file.startsWith('/etc/courtd/') ? 0o600 : 0o644;
    fs.writeFileSync(within(file), `${lines.join('\n')}\n`, { mode });
  }
  await box.must('systemctl', 'enable', '--now', 'nats.service');
  await box.must('env', ...AS_HQ, 'courtd', 'fleet', 'init', NATS);
}

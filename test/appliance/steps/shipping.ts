import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventOf } from '../../../src/fleet/log/chunk.ts';
import type { ShipStatus } from '../../../src/health/shipStatus.ts';
import type { CopyStatus } from '../../../src/health/status.ts';
import { makePair } from '../../harness/certificates.ts';
import { Authority, permissionsOf } from '../../harness/natsCredentials.ts';
import { natsProgram } from '../../harness/natsProgram.ts';
import { failures, number, type Venue } from '../venue.ts';
import { expect, type Walk } from '../walk.ts';

const SETTINGS = '/etc/courtd/courtd.env';
const [SHIPPER, FEEDS] = ['courtd-ship.service', 'courtd-feed@*.service'];
const COPIER = 'courtd-copy.service';
const COPY_SETTING = 'COURTD_COPY_DIR=/media/copy\n';
const ALLOWANCE = `/etc/systemd/system/${SHIPPER}.d/override.conf`;
const CREDENTIALS = `/run/credentials/${SHIPPER}`;
const NAME = 'venue-7';
const NATS = 'tls://127.0.0.1:4222';
const HQ = '/etc/nats';
const AS_HQ = ['--creds', `${HQ}/hq.creds`, '--ca', `${HQ}/hq.crt`];
const EXAMPLES = '/usr/share/doc/courtd/examples';
const STICK = '[Mount]\nWhat=/stick\nType=none\nOptions=\nOptions=bind\n';
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

/** The box ships under systemd, to headquarters in the same container. */
export class Shipping {
  readonly #venue: Venue;

  constructor(venue: Venue) {
    this.#venue = venue;
  }

  async walk(walk: Walk): Promise<void> {
    const { box } = this.#venue;
    await walk.step('shipping is off', async () => {
      const result = await box.show(SHIPPER, 'Result');
      const state = await box.show(SHIPPER, 'ActiveState');
      expect(result === 'exec-condition', `${SHIPPER} has the result ${result}`);
      expect(state === 'inactive', `${SHIPPER} is ${state}`);
      const ship = await this.#status();
      expect(ship === null, `"courtd status" says of shipping: ${JSON.stringify(ship)}`);
      return `${SHIPPER} is skipped`;
    });

    await walk.step('shipping to NATS', async () => {
      await this.#makeHeadquarters();
      await this.#set(`COURTD_SHIP_URL=${NATS}\nCOURTD_SHIP_BOX=${NAME}\n`);
      // Where the kernel of a container has no BPF, the unit's firewall does nothing.
      const { state } = await this.#until(
        (one) => one.state === 'current' || one.error?.includes('IPAddressAllow=') === true,
      );
      const isOpen = state === 'current';
      fs.mkdirSync(path.dirname(box.root + ALLOWANCE), { recursive: true });
      fs.writeFileSync(box.root + ALLOWANCE, '[Service]\nIPAddressAllow=127.0.0.1\n');
      await box.must('systemctl', 'daemon-reload');
      await box.must('systemctl', 'restart', SHIPPER);
      const firewall = isOpen
        ? 'IPAddressDeny=any has no effect here: no BPF'
        : 'nothing went out before IPAddressAllow=';
      return `${await this.whole()}; ${firewall}`;
    });

    await walk.step('what the shipper may see', async () => {
      const within = ['nsenter', '-t', await box.show(SHIPPER, 'MainPID'), '-m', '-U', '-n'];
      const user = await box.must('id', '-u', 'courtd-ship');
      const group = await box.must('id', '-g', 'courtd-ship');
      const can = async (command: string) =>
        (await box.run(...(within as [string]), '-S', user, '-G', group, 'sh', '-c', command)).status === 0;
      for (const command of FORBIDDEN) expect(!(await can(command)), `the shipper can: ${command}`);
      for (const command of PERMITTED) expect(await can(command), `the shipper cannot: ${command}`);
      return `${FORBIDDEN.length} things are closed to it; the feed and its credentials are not`;
    });

    await walk.step('the daemon, the feed and the shipper are restarted under load', async () => {
      const { load } = this.#venue;
      const report = await this.#venue.underLoad('shipping', load.some, async () => {
        await box.must('systemctl', 'restart', 'courtd.service');
        await box.must('systemctl', 'kill', '--signal=SIGKILL', FEEDS);
        await box.must('systemctl', 'restart', SHIPPER);
        await box.must('systemctl', 'stop', FEEDS);
      });
      const ship = await this.#status();
      expect(ship?.url === NATS, `"courtd status" says of shipping: ${JSON.stringify(ship)}`);
      return `${failures(report)}; ${await this.whole()}`;
    });

    await walk.step('the shipper is stopped', async () => {
      await box.must('systemctl', 'stop', SHIPPER);
      const ended = await box.must(
        'systemctl',
        'show',
        SHIPPER,
        '--property=ActiveState,Result,ExecMainStatus',
      );
      expect(/ActiveState=inactive/.test(ended) && /Result=success/.test(ended), `it ended with ${ended}`);
      await box.must('systemctl', 'start', SHIPPER);
      return ended.split('\n').join(' ');
    });
  }

  /** A copy on a stick, with the files that its guide names. */
  async copy(walk: Walk): Promise<void> {
    const { box, load } = this.#venue;
    const mount = (how: 'start' | 'stop') => box.must('systemctl', how, 'media-copy.mount');
    await walk.step('a copy on a stick: away at first, plugged in, pulled out, back', async () => {
      const units = '/etc/systemd/system';
      await box.must('install', '-d', '-m', '0755', '/media/copy', '/stick', `${units}/media-copy.mount.d`);
      await box.must('mount', '-t', 'tmpfs', '-o', 'size=64M', 'tmpfs', '/stick');
      await box.must('chown', 'courtd:courtd', '/stick');
      // A container has no devices.
      fs.writeFileSync(`${box.root}${units}/media-copy.mount.d/stick.conf`, STICK);
      await box.must('cp', `${EXAMPLES}/media-copy.mount`, units);
      await box.must('systemctl', 'daemon-reload');
      fs.appendFileSync(box.root + SETTINGS, COPY_SETTING);
      await box.must('systemctl', 'restart', COPIER, 'courtd.service');
      await this.#untilCopy(({ error }) => error?.startsWith('Cannot write to') === true);
      await mount('start');
      const first = await this.#copied();
      await mount('stop');
      const report = await this.#venue.underLoad('copying', load.some, async () => {
        await this.#untilCopy(({ error }) => error !== null);
        const left = (await box.must('ls', '-A', '/media/copy')).trim();
        expect(left === '', `without a stick there is ${left} in /media/copy`);
        await mount('start');
      });
      return `${first}; ${failures(report)}; ${await this.#copied()}`;
    });
    await walk.step('the copy is switched off', async () => {
      const file = box.root + SETTINGS;
      fs.writeFileSync(file, fs.readFileSync(file, 'utf8').replace(COPY_SETTING, ''));
      await box.must('systemctl', 'stop', COPIER);
      await box.must('rm', '/run/courtd/copy.json');
      await mount('stop');
      return `${COPIER} is ${await box.show(COPIER, 'ActiveState')}`;
    });
  }

  /** @returns once the stick has what the box has, in its order: what that is. */
  async #copied(): Promise<string> {
    await this.#untilCopy(({ error, behind_events }) => error === null && behind_events === 0);
    const { box } = this.#venue;
    const digest = async (data: string) =>
      (await box.must('sh', '-c', `courtd tail --json --after 0 --data ${data} | sha256sum`)).trim();
    const [own, copied] = [await digest('/var/lib/courtd'), await digest('/media/copy')];
    expect(own === copied, `the box has ${own}, the stick ${copied}`);
    return 'the stick has the log of the box, byte for byte';
  }

  async #untilCopy(isSo: (copy: CopyStatus) => boolean): Promise<void> {
    for (;;) {
      const { copy } = JSON.parse((await this.#venue.box.run('courtd', 'status', '--json')).stdout);
      if (copy !== null && isSo(copy)) return;
      await sleep(LOOK_MS);
    }
  }

  /** @returns once headquarters has what the box has, in its order: what that is. */
  async whole(): Promise<string> {
    await this.#until(({ state, behind_events }) => state === 'current' && behind_events === 0);
    const own = await this.#digest(['tail', '--json', '--after', '0']);
    const theirs = await this.#digest(['fleet', 'tail', NATS, ...AS_HQ]);
    expect(own === theirs, `the box has ${own}, headquarters ${theirs}`);
    return `headquarters has all ${own.split(' ')[0]} events, in their order`;
  }

  /** To nobody. */
  async off(walk: Walk): Promise<void> {
    const { box } = this.#venue;
    await walk.step('shipping is off again', async () => {
      await this.#set('');
      const state = await box.show(SHIPPER, 'ActiveState');
      expect(state === 'inactive', `without a URL ${SHIPPER} is ${state}`);
      return `${SHIPPER} is ${state}`;
    });
  }

  async #status(): Promise<ShipStatus | null> {
    return JSON.parse((await this.#venue.box.run('courtd', 'status', '--json')).stdout).ship;
  }

  /** @returns the status, once it is so. */
  async #until(isSo: (status: ShipStatus) => boolean): Promise<ShipStatus> {
    let status = await this.#status();
    for (; status === null || !isSo(status); status = await this.#status()) await sleep(LOOK_MS);
    return status;
  }

  /** @returns how many events a command prints, and the SHA-256 of them. */
  async #digest(command: readonly string[]): Promise<string> {
    const hash = createHash('sha256');
    let events = 0;
    for await (const line of this.#venue.box.lines('courtd', ...command)) {
      hash.update(eventOf(line)).update('\n');
      events++;
    }
    return `${number(events)} ${hash.digest('hex')}`;
  }

  /** Where to ship to, in the place of what was set before. */
  async #set(settings: string): Promise<void> {
    const { box } = this.#venue;
    const file = box.root + SETTINGS;
    const others = fs.readFileSync(file, 'utf8').replaceAll(/^COURTD_SHIP_.*\n/gm, '');
    fs.writeFileSync(file, others + settings);
    await box.must('systemctl', 'restart', SHIPPER, 'courtd.service');
  }

  #secret(name: 'creds' | 'ca', text: string): void {
    fs.writeFileSync(`${this.#venue.box.root}/etc/courtd/ship.${name}`, text, { mode: 0o600 });
  }

  /** A server of NATS that systemd starts, with TLS, credentials, and the fleet's streams. */
  async #makeHeadquarters(): Promise<void> {
    const { box } = this.#venue;
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
      '/etc/systemd/system/nats.service': [
        '[Service]',
        `ExecStart=/usr/local/bin/nats-server -c ${HQ}/nats.conf`,
        '[Install]',
        'WantedBy=multi-user.target',
      ],
    };
    for (const [file, lines] of Object.entries(files))
      fs.writeFileSync(within(file), `${lines.join('\n')}\n`);
    this.#secret('creds', authority.issue(NAME, permissionsOf(NAME)).creds);
    this.#secret('ca', fs.readFileSync(cert, 'utf8'));
    await box.must('systemctl', 'enable', '--now', 'nats.service');
    await box.must('courtd', 'fleet', 'init', NATS, ...AS_HQ);
  }
}

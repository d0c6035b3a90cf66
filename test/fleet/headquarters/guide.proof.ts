import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import t, { type Test } from 'tap';
import { Connector } from '../../../src/fleet/nats/connect.ts';
import { makePair } from '../../harness/certificates.ts';
import { courtd, temporaryFolder } from '../../harness/daemon.ts';
import { blocks } from '../../harness/documents.ts';
import { type NatsPlace, NatsServers } from '../../harness/nats.ts';
import { permissionsOf } from '../../harness/natsCredentials.ts';
import { missingNats } from '../../harness/natsProgram.ts';
import { SimulatedBox } from '../../harness/simulatedBox.ts';

const GUIDE = 'systemd/FLEET.md';
const [SERVER, USERS] = blocks(GUIDE, 'conf') as [string, string];
/** What `mkpasswd -m bcrypt` gives for HQ-PASSWORD. */
const HASH = '$2b$05$udJZJfo55Y7Um9nhlI0q5ON2iSLDU6KnK2fzIqBj0odmavbZu04Hq';
const BOX = 'venue-17';
const INBOX = `_INBOX.${BOX}`;
/** The permissions of the guide, as the guide has them. */
const ALLOWED = [...USERS.matchAll(/allow: \[([^\]]*)\]/g)].map(([, list]) =>
  [...list!.matchAll(/"([^"]+)"/g)].map(([, subject]) => subject!),
) as [string[], string[]];

const FORBIDDEN = { message: /Permissions Violation/i };
const PATIENT = { timeout: 30_000 };
const [TRIES, ASK_AGAIN_MS] = [100, 100];
const skip = await missingNats();

/** @returns the guide's configuration, with addresses and files of this test. */
function configuration(place: NatsPlace, cert: string, key: string): string {
  fs.mkdirSync(path.join(place.folder, 'nats'));
  fs.writeFileSync(path.join(place.folder, 'nats/users.conf'), USERS.replace('HQ-PASSWORD', HASH));
  return SERVER.replace('hq-1', place.name)
    .replace('0.0.0.0:4222', `127.0.0.1:${place.port}`)
    .replace('10.0.0.1:8222', `127.0.0.1:${place.monitorPort}`)
    .replace('0.0.0.0:6222', `127.0.0.1:${place.routePort}`)
    .replace(/routes: .*/, `routes: ${JSON.stringify(place.routes)}`)
    .replace('/var/lib/nats', path.join(place.folder, 'store'))
    .replaceAll('/etc/nats/server.crt', cert)
    .replaceAll('/etc/nats/server.key', key)
    .replaceAll('/etc/nats/ca.crt', cert);
}

/** @returns up to where the box's log is there. Of three servers the one that answers may be behind the others: it is asked again. */
async function lastSeqOf(nc: NatsConnection): Promise<string | undefined> {
  for (let tries = 1; ; tries++) {
    const { headers } = await nc.request(`$JS.API.DIRECT.GET.FLEET.court.v1.${BOX}.e1`, '', PATIENT);
    const last = headers?.get('Courtd-Last');
    if (last === '5' || tries === TRIES) return last;
    await sleep(ASK_AGAIN_MS);
  }
}

/** What a box must be able to do, and every way to look at or harm another that it must not have. */
async function holdsTo(t: Test, nc: NatsConnection, box: SimulatedBox): Promise<void> {
  const [publish, subscribe] = ALLOWED;
  t.strictSame(permissionsOf(BOX), { publish, subscribe }, 'as in credentials files');
  await box.ship(3);
  await box.ship(2);
  await box.tell('{"state":"current"}');
  t.equal(await lastSeqOf(nc), '5');

  for (const subject of [
    'court.v1.venue-18.e1',
    '$KV.court-status.venue-18',
    '$JS.API.DIRECT.GET.FLEET.court.v1.venue-18.e1',
    '$JS.API.DIRECT.GET.FLEET',
    '$JS.API.STREAM.MSG.GET.FLEET',
    '$JS.API.STREAM.MSG.DELETE.FLEET',
    '$JS.API.STREAM.INFO.FLEET',
    '$JS.API.STREAM.PURGE.FLEET',
    '$JS.API.STREAM.DELETE.FLEET',
    '$JS.API.CONSUMER.CREATE.FLEET.spy',
  ]) {
    await t.rejects(nc.request(subject, '{}', PATIENT), FORBIDDEN, subject);
  }
  for (const subject of ['court.>', '$KV.>', '_INBOX.>', '_INBOX.venue-18.>', '>']) {
    const closed = await nc.subscribe(subject, { callback: () => {} }).closed;
    t.match(closed, { name: 'PermissionViolationError' }, subject);
  }
}

t.test("three servers of the guide's configuration keep what they acknowledge", { skip }, async (t) => {
  const folder = temporaryFolder(t);
  const { cert, key } = makePair(folder, 'hq');
  const servers = await NatsServers.start(t, {
    servers: 3,
    scheme: 'tls',
    configure: (place) => configuration(place, cert, key),
  });
  const as = (user: string, password: string) => servers.url.replace('//', `//${user}:${password}@`);
  const url = as('hq', 'HQ-PASSWORD');
  const trusting = { COURTD_FLEET_CA: cert };
  const made = { status: 0, stdout: /^FLEET: created, .*3\n/ };
  t.match(await courtd(['fleet', 'init', url], trusting), made);
  await t.test('a box may do what it has to, and nothing else', async (t) => {
    const nc = await connect({
      servers: servers.servers.map(({ port }) => `localhost:${port}`),
      user: BOX,
      pass: 'BOX-PASSWORD',
      tls: { ca: fs.readFileSync(cert, 'utf8'), ...{ checkServerIdentity: () => undefined } },
      inboxPrefix: INBOX,
      timeout: 20_000,
    });
    t.teardown(() => nc.close());
    const box = new SimulatedBox(new Connector({ url: as(BOX, 'BOX-PASSWORD'), ca: cert }), BOX);
    t.teardown(() => box.close());
    await holdsTo(t, nc, box);
    const { status, stderr } = await courtd(['fleet', 'status', as(BOX, 'BOX-PASSWORD')], trusting);
    t.equal(status, 1);
    t.match(stderr, /does not let this user/);
    t.notMatch(stderr, 'PASSWORD');
  });
  await servers.servers[0]!.stop();
  const { status, stdout } = await courtd(['fleet', 'tail', url], trusting);
  t.strictSame([status, stdout.split('\n').length - 1], [0, 5], 'without one of them');
});

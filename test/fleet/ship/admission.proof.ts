import fs from 'node:fs';
import path from 'node:path';
import { credsAuthenticator } from '@nats-io/transport-node';
import t from 'tap';
import { courtd, temporaryFolder } from '../../harness/daemon.ts';
import { events } from '../../harness/events.ts';
import { NatsServers } from '../../harness/nats.ts';
import { Authority, permissionsOf } from '../../harness/natsCredentials.ts';
import { missingNats } from '../../harness/natsProgram.ts';
import { Box } from './box.ts';
import { gapsOf, Headquarters } from './headquarters.ts';

const skip = await missingNats();

t.test(
  'credentials: what a box may do is enough; revoked ones are refused until they are renewed',
  { skip },
  async (t) => {
    const credentials = new Authority();
    const config = credentials.configuration;
    const servers = await NatsServers.start(t, { config });
    const server = servers.servers[0]!;
    const folder = temporaryFolder(t);
    const [file, all] = [path.join(folder, 'venue-7.creds'), path.join(folder, 'hq.creds')];
    fs.writeFileSync(all, credentials.issue('hq').creds);
    const authenticator = credsAuthenticator(fs.readFileSync(all));
    const hq = await Headquarters.start(t, servers.url, { COURTD_FLEET_CREDS: all }, { authenticator });
    t.match(await courtd(['fleet', 'init', servers.url]), { status: 1, stderr: /rejects the user/ });
    const old = credentials.issue('venue-7', permissionsOf('venue-7'));
    fs.writeFileSync(file, old.creds);
    const env = { COURTD_SHIP_URL: servers.url, COURTD_SHIP_BOX: 'venue-7', COURTD_SHIP_CREDS: file };
    const box = new Box(t, temporaryFolder(t), env);
    box.put(...events(10));
    const shipper = box.ship();
    await shipper.report(({ shipped_seq }) => shipped_seq === 10);
    const before = fs.readFileSync(server.configuration, 'utf8');
    credentials.revoke(old.user);
    fs.writeFileSync(server.configuration, credentials.renewed(before));
    await server.restart();
    box.put(...events(10));
    await shipper.state('refused');
    t.match(await box.status(), {
      state: 'refused',
      shipped_seq: 10,
      behind_events: 10,
      error: /COURTD_SHIP_CREDS/,
    });
    fs.writeFileSync(file, credentials.issue('venue-7', permissionsOf('venue-7')).creds);
    await shipper.report(({ shipped_seq }) => shipped_seq === 20);
    t.equal(await shipper.stop(), 0);
    t.strictSame(gapsOf(await hq.messages('venue-7')), []);
    const other = new Box(t, box.data, { ...env, COURTD_SHIP_BOX: 'venue-8' });
    const stranger = other.ship();
    await stranger.state('refused');
    t.match(await other.status(), { state: 'refused', error: /permissions of FLEET.md/ });
    t.equal(await stranger.stop(), 0);
    t.strictSame(await hq.messages('venue-8'), [], "another box's subject is refused");
    fs.writeFileSync(file, 'no credentials');
    const wrong = box.ship();
    await wrong.state('refused');
    t.match(await box.status(), { error: /holds no NATS credentials/ });
  },
);

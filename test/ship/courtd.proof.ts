import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { Random } from '../../src/cli/simulate/random.ts';
import { type Cleanup, courtd, Daemon, temporaryFolder } from '../harness/daemon.ts';
import { event, events } from '../harness/events.ts';
import { Box } from './box.ts';

const SEED = Number(process.env.SHIP_SEED ?? Date.now() % 1e6);
const KILLS = 6;

/** Another courtd, and a box that ships to it. */
async function pair(t: Cleanup, args: readonly string[] = []) {
  const daemon = await Daemon.start(t, args);
  const creds = path.join(temporaryFolder(t), 'token');
  fs.writeFileSync(creds, `${daemon.token}\n`);
  const url = `http://127.0.0.1:${daemon.port}`;
  const env = { COURTD_SHIP_URL: url, COURTD_SHIP_BOX: 'venue-7', COURTD_SHIP_CREDS: creds };
  return { daemon, creds, env, box: new Box(t, temporaryFolder(t), env) };
}

/** @returns the ids of what is stored, in the order of arrival. */
async function ids(data: string): Promise<string[]> {
  const { stdout } = await courtd(['tail', '--json', '--after', '0', '--data', data]);
  return stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line).event.event_id);
}

t.test('another courtd is killed at random: it has every event once, in order', async (t) => {
  const random = new Random(SEED);
  t.comment(`seed ${SEED}`);
  const first = await pair(t);
  let { daemon } = first;
  // Its port stays, as behind a socket of systemd.
  const { box } = first;
  const port = String(daemon.port);
  const shipper = box.ship();
  let isSending = true;
  const sending = (async () => {
    while (isSending) {
      box.put(...events(120));
      await sleep(30);
    }
  })();
  for (let kill = 0; kill < KILLS; kill++) {
    await sleep(random.next() * 1_500);
    await daemon.stop('SIGKILL');
    daemon = await Daemon.run(t, daemon.data, daemon.token, ['--port', port]);
  }
  isSending = false;
  await sending;
  const sent = await ids(box.data);
  await shipper.report(({ shipped_seq }) => shipped_seq === sent.length);
  t.equal(await shipper.stop(), 0);
  t.ok(sent.length > 500);
  t.strictSame(await ids(daemon.data), sent);
  t.match(await box.status(), { state: 'current', behind_events: 0, shipped_seq: sent.length });
});

t.test('what it refuses for good is left out and told; a wrong token is waited for', async (t) => {
  const { daemon, creds, box } = await pair(t, ['--venue', 'venue-1']);
  const sent = [...events(70), event({ venue_id: 'venue-2' }), ...events(30), event({ venue_id: 'venue-2' })];
  box.put(...sent);
  const { status, stderr } = await box.once();
  t.equal(status, 0);
  t.match(stderr, /seq 71 .* is not shipped: headquarters answers 400: .*venue/);
  t.match(stderr, /seq 102 .* is not shipped/);
  t.strictSame(
    await ids(daemon.data),
    sent.filter(({ venue_id }) => venue_id === 'venue-1').map(({ event_id }) => event_id),
  );
  t.match(await box.status(), {
    state: 'current',
    shipped_seq: 102,
    behind_events: 0,
    error: /is not shipped/,
  });
  fs.writeFileSync(creds, 'not the token');
  box.put(event());
  const shipper = box.ship();
  await shipper.state('refused');
  t.match(await box.status(), { state: 'refused', shipped_seq: 102, error: /token.*COURTD_SHIP_CREDS/ });
  t.match(JSON.parse((await box.command('status', '--json')).stdout), { ship: { state: 'refused' } });
  fs.writeFileSync(creds, daemon.token);
  // It was told to come again in half a minute.
  t.equal(await shipper.stop(), 0);
  t.match(await box.once(), { status: 0 });
  t.equal((await ids(daemon.data)).length, 101);
});

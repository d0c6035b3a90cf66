import { randomBytes } from 'node:crypto';
import { jetstreamManager } from '@nats-io/jetstream';
import t from 'tap';
import { courtd } from '../../harness/daemon.ts';
import { runInProcess } from '../../harness/inProcess.ts';
import { bad, NatsServers } from '../../harness/nats.ts';
import { missingNats } from '../../harness/natsProgram.ts';
import { SimulatedBox } from '../../harness/simulatedBox.ts';

runInProcess();

/** Streams that are not as `fleet init` makes them, and servers that lose or refuse what is shipped. */

const skip = await missingNats();

t.test(
  'a server whose storage is full is named before it is full, and to the box that it refuses',
  { skip },
  async (t) => {
    const servers = await NatsServers.start(t, {
      configure: ({ name, folder, port, monitorPort }) => `
      server_name: ${name}, listen: "127.0.0.1:${port}", http: "127.0.0.1:${monitorPort}"
      jetstream { store_dir: "${folder}/store", sync_interval: always, max_file_store: 64KB }`,
    });
    t.equal((await courtd(['fleet', 'init', servers.url])).status, 0);
    const box = new SimulatedBox(await servers.connect(t), 'venue-a');
    const fill = async () => {
      for (;;) await box.ship(20, { payload: { noise: randomBytes(2_000).toString('base64') } });
    };
    await t.rejects(fill(), { message: /insufficient/ });
    const { status, results } = await servers.check();
    t.equal(status, 0);
    t.match(
      results.find(({ name }) => name === 'limits'),
      { level: 'warn', message: /^The storage of n1 is \d+ % full \(max_file_store 65536\)/ },
    );
  },
);

t.test('a log of which nothing can be deleted is used, and said to be one', { skip }, async (t) => {
  const servers = await NatsServers.start(t);
  const nc = await servers.connect(t);
  const jsm = await jetstreamManager(nc);
  t.equal((await courtd(['fleet', 'init', servers.url])).status, 0);
  await jsm.streams.update('FLEET', { deny_delete: true });
  t.match(await courtd(['fleet', 'init', servers.url]), {
    status: 0,
    stdout: /^FLEET: was there, 1 copy\n/,
    stderr: /^courtd: FLEET was made by an earlier .*deny_delete.*another account/,
  });
  const box = new SimulatedBox(nc, 'venue-a');
  await box.ship(3);
  await t.rejects(jsm.streams.deleteMessage('FLEET', 1), /message delete not permitted/);
  const { status, results } = await servers.check();
  t.equal(status, 0);
  t.match(
    bad(results).map(({ name, level, message }) => `${name} ${level} ${message}`),
    [/^replicas /, /^stream warn FLEET was made by an earlier/],
  );
});

t.test('a stream of another shape is left as it is, and named with its differences', { skip }, async (t) => {
  const servers = await NatsServers.start(t, { syncInterval: '"2m"' });
  const nc = await servers.connect(t);
  const jsm = await jetstreamManager(nc);
  await jsm.streams.add({ name: 'FLEET', subjects: ['court.v1.*.*'], max_age: 3_600e9 });
  const { status, stdout, stderr } = await courtd(['fleet', 'init', servers.url]);
  t.strictSame([status, stdout], [1, '']);
  t.match(
    stderr,
    /already a stream FLEET with other settings: .*max_age is 3600000000000 \(wanted: 0\).*not changed/,
  );
  await t.rejects(jsm.streams.info('FLEET_STATUS'), 'nothing is made');

  t.test(
    'and what loses events fails: a server that acknowledges before it syncs, and a log with an age',
    async (t) => {
      const { status, results } = await servers.check();
      t.equal(status, 1);
      t.match(
        results.find(({ name }) => name === 'sync'),
        {
          level: 'fail',
          message: /n1 acknowledges before it syncs: sync_interval/,
          advice: /sync_interval: always/,
        },
      );
      t.match(
        results.find(({ name }) => name === 'stream'),
        { level: 'fail', message: /loses what was acknowledged: .*max_age/ },
      );
    },
  );
});

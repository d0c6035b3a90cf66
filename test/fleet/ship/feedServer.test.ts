import http from 'node:http';
import t from 'tap';
import { DataDirectory } from '../../../src/base/dataDirectory.ts';
import { FeedClient } from '../../../src/fleet/feed/feedClient.ts';
import { FeedServer } from '../../../src/fleet/feed/feedServer.ts';
import { LocalFeed } from '../../../src/fleet/feed/localFeed.ts';
import { temporaryFolder } from '../../harness/daemon.ts';
import { events } from '../../harness/events.ts';
import { Box } from './box.ts';

/** What the feed of a shipper answers to a stranger. */

t.test(
  'a path that is no URL, numbers without sense and reports that are none end and fill nothing',
  async (t) => {
    const box = new Box(t, temporaryFolder(t), {});
    box.put(...events(501));
    const feed = new LocalFeed(new DataDirectory(box.data));
    await feed.state();
    const server = await FeedServer.start(new DataDirectory(box.data), feed);
    t.teardown(async () => {
      await server.close();
      await feed.close();
    });
    const ask = (target: string, body?: string) =>
      new Promise<[status: number | undefined, text: string]>((resolve, reject) => {
        const method = body === undefined ? 'GET' : 'POST';
        const options = {
          socketPath: new DataDirectory(box.data).file('shipSocket'),
          path: target,
          method,
          agent: false,
        };
        const request = http.request(options, async (response) =>
          resolve([response.statusCode, Buffer.concat(await response.toArray()).toString()]),
        );
        request.once('error', reject).end(body);
      });
    for (const target of ['//', '//[', '/v1/../v1/state']) t.equal((await ask(target))[0], 404, target);
    for (const query of ['after=0&events=-1', 'after=-1&events=1', 'after=x&events=1']) {
      t.equal((await ask(`/v1/events?${query}`))[0], 400, query);
    }
    const [, lines] = await ask('/v1/events?after=0&events=9007199254740991');
    t.equal(lines.split('\n').length - 1, 500);
    for (const report of ['', '{', 'null', '{"url":1}']) {
      const [status, text] = await ask('/v1/report', report);
      t.equal(status, 400, report);
      t.match(JSON.parse(text), { error: 'That is not a report.' });
    }
    t.equal((await ask('/v1/state'))[0], 200);

    const { askedAt } = server;
    t.match(await ask('/v1/report'), [200, 'null']);
    t.equal(server.askedAt, askedAt, 'a command that asks for the progress does not keep it running');
    const report = { box: 'venue-7', url: 'tls://hq', epoch: null, state: 'connecting', shipped_seq: null };
    const told = await ask('/v1/report', JSON.stringify({ ...report, last_ack_at: null, error: null }));
    t.equal(told[0], 200);
    t.ok(server.askedAt > askedAt, 'a shipper that waits for headquarters does');
  },
);

t.test(
  'what a copy has of a box is given out; the tokens only where the settings name a directory',
  async (t) => {
    const box = new Box(t, temporaryFolder(t), {});
    box.put(...events(5));
    t.equal((await box.command('token', 'rotate')).status, 0);
    const directory = new DataDirectory(box.data);
    const feed = new LocalFeed(directory);
    await feed.state();
    const server = await FeedServer.start(directory, feed);
    const client = new FeedClient(directory.file('shipSocket'));
    t.teardown(async () => {
      delete process.env.COURTD_SHIP_URL;
      await client.close();
      await server.close();
      await feed.close();
    });
    for (const url of ['', 'tls://hq.example.org']) {
      process.env.COURTD_SHIP_URL = url;
      t.strictSame(await client.identity(), { venue: null, oldestSeq: 1, tokens: null, erasures: [] }, url);
    }
    process.env.COURTD_SHIP_URL = 'file:///media/copy';
    const { tokens } = await client.identity();
    t.match(tokens, [{ id: 1, state: 'active', hash: /^[0-9a-f]{64}$/ }]);
    t.notOk('last_used_ms' in tokens![0]!);
    box.sql('DELETE FROM event WHERE seq < 4');
    t.match(await client.identity(), { oldestSeq: 4 });
    box.sql('DELETE FROM event');
    t.match(await client.identity(), { oldestSeq: 6 });
  },
);

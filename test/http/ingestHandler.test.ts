import t from 'tap';
import { Daemon } from '../harness/daemon.ts';
import { event, events } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { serveAgain } from '../harness/servingAgain.ts';

runInProcess();
serveAgain();

const daemon = await Daemon.start(t);

t.test(
  'an event is answered 202 with the counts and nothing else, and comes back as it was sent',
  async (t) => {
    const sent = event({ session_id: 'one' });
    const response = await daemon.post(sent);
    t.equal(response.status, 202);
    t.equal(response.headers.get('content-type'), 'application/json');
    t.equal(await response.text(), '{"accepted":1,"duplicates":0}');
    const exported = await daemon.exported(sent.session_id);
    t.strictSame(
      exported.map((line) => JSON.parse(line)),
      [sent],
    );
  },
);

t.test(
  'a resend is ignored and counted, in the same request, in another one, and after a restart',
  async (t) => {
    const [a, b] = events(2);
    t.strictSame(await (await daemon.post([a, b, a])).json(), { accepted: 2, duplicates: 1 });
    t.strictSame(await (await daemon.post([b, a])).json(), { accepted: 0, duplicates: 2 });
    t.equal(await daemon.stop(), 0);
    const again = await Daemon.run(t, daemon.data, daemon.token);
    t.strictSame(await (await again.post(a)).json(), { accepted: 0, duplicates: 1 });
    t.equal((await again.exported('session-1')).length, 2);
  },
);

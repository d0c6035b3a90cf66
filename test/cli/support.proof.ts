import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { makePair } from '../harness/certificates.ts';
import { Daemon, temporaryFolder } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { FakeSystemd } from '../harness/fakeSystemd.ts';

t.test('a file for support: no token that ever was, no payload, no key', async (t) => {
  const folder = temporaryFolder(t);
  const { cert, key } = await makePair(folder, 'box');
  const tls = { COURTD_TLS_CERT: cert, COURTD_TLS_KEY: key };
  // Spoken without TLS, so that the test can; its settings name the pair.
  const daemon = await Daemon.start(t, ['--log-level', 'debug'], path.join(folder, 'data'));
  const tokens = [daemon.token];
  for (const grace of ['0', '1h', '1h']) {
    tokens.push((await daemon.command('token', 'rotate', '--grace', grace)).stdout.trim());
  }
  const token = tokens.at(-1)!;
  const as = { Authorization: `Bearer ${token}` };
  const secrets = ['payload-one', 'payload-two', 'payload-three', 'extra-four'];
  const [one, two, three, four] = secrets;
  const sent = [
    [event({ event_id: 'e', payload: { note: one } }), as],
    [event({ event_id: 'e', payload: { note: two } }), as],
    [event({ payload: { x_ft: three } }), as],
    [event({ type: four, confidence: four }), as],
    [event({ source: token, event_id: token, court_id: tokens[1], payload: { x_ft: three } }), as],
    [event(), { Authorization: `Bearer ${tokens[0]}` }],
  ] as const;
  const statuses: number[] = [];
  for (const [body, headers] of sent) statuses.push((await daemon.post(body, headers)).status);
  t.strictSame(statuses, [202, 202, 400, 400, 400, 401]);
  await daemon.stop();
  const system = new FakeSystemd(t);
  system.boot(daemon.data, {
    ...tls,
    COURTD_TOKEN: 'payload-five',
    COURTD_VENUE: 'venue-1',
    COURTD_NEW: 'payload-six',
    COURTD_SHIP_URL: 'nats://box:payload-seven@a:1,nats://box:p@yload-eight@b:1',
    COURTD_ALERT_URL: 'https://chat.example/payload-nine',
    COURTD_ALERT_COMMAND: 'curl -H payload-ten',
    COURTD_PING_URL: 'https://ping.example/payload-eleven',
  });
  const crash = ['TypeError: payload-one is no object', '    at append (file:///x.ts:1:2)'];
  const lines = [...daemon.log.map((line) => JSON.stringify(line)), ...crash].map((MESSAGE) =>
    JSON.stringify({ MESSAGE, SYSLOG_IDENTIFIER: 'courtd', __REALTIME_TIMESTAMP: '1773500966535000' }),
  );
  const log = path.join(folder, 'journal');
  fs.writeFileSync(log, `${lines.join('\n')}\n`);
  t.match(fs.readFileSync(log, 'utf8'), 'payload-three', 'the log itself quotes what a camera sent');
  system.program('journalctl', `case "$*" in *--lines=500*) cat '${log}' ;; esac`);

  const file = path.join(folder, 'support.txt');
  const written = { status: 0, stdout: '', stderr: `${file} is written` };
  t.match(await system.courtd(['support', '-o', file, '--data', daemon.data]), written);
  const text = fs.readFileSync(file, 'utf8');
  const set = ['payload-five', 'payload-six', 'payload-seven', 'yload-eight', 'payload-nine', 'payload-ten'];
  for (const secret of [...tokens, ...secrets, ...set, 'payload-eleven'])
    t.notOk(text.includes(secret), secret);
  const pem = fs
    .readFileSync(key, 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('-----'));
  for (const line of [...pem, 'PRIVATE KEY']) t.notOk(text.includes(line), 'the key');
  for (const title of ['versions', 'settings', 'check', 'status', 'rejections', 'log'])
    t.match(text, `== ${title} ==\n`);
  for (const expected of [
    /^courtd \d/m,
    'COURTD_VENUE=venue-1',
    'COURTD_TOKEN=(not shown',
    'COURTD_NEW=(not shown',
    'COURTD_ALERT_URL=(not shown',
    'COURTD_SHIP_URL=nats://a:1,nats://b:1',
    /^(ok|warn|fail) +sync: /m,
    /^.{24} [\da-f-]{13} 400 invalid_event 127\.0\.0\.1, camera-1 on court-1, events 1$/m,
    /^.{24} [\da-f-]{13} 401 unauthorized 127\.0\.0\.1, - on -, events -$/m,
    /^.{24} [\da-f-]{13} 400 invalid_event 127\.0\.0\.1, \(token removed\) on \(removed\), events 1$/m,
    /^!! {2}The daemon does not run/m,
    /"msg":"rejected"/,
    /"msg":"listening"/,
    'at append (file:///x.ts:1:2)',
  ]) {
    t.match(text, expected);
  }
});

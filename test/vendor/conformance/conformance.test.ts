import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';
import { text } from 'node:stream/consumers';
import t from 'tap';
import { BIN, cleanEnvironment, courtd, start, temporaryFolder } from '../../harness/daemon.ts';
import { event } from '../../harness/events.ts';

t.test(
  'it prints its token alone, answers as the real box does, and gives a verdict at SIGINT',
  async (t) => {
    const folder = temporaryFolder(t);
    const [json, html] = ['verdict.json', 'verdict.html'].map((name) => path.join(folder, name)) as [
      string,
      string,
    ];
    const env = cleanEnvironment({ TMPDIR: folder });
    const args = [
      'conformance',
      '--camera',
      'Acme <C>, 3.2',
      '--restart',
      '--host',
      '127.0.0.1',
      '--port',
      '0',
      '-o',
      json,
      '-o',
      html,
    ];
    const child = start(BIN, args, { env });
    t.teardown(() => child.kill('SIGKILL'));
    const exited = once(child, 'exit');
    const stderr = text(child.stderr.on('data', (chunk) => (said += chunk)));
    let said = '';
    const lines: string[] = [];
    const reader = readline.createInterface(child.stdout).on('line', (line) => lines.push(line));
    await once(reader, 'line');
    const [token = ''] = lines;
    t.match(token, /^[\w-]{43}$/);
    while (!/port \d+/.test(said)) await once(child.stderr, 'data');
    const url = `http://127.0.0.1:${/port (\d+)/.exec(said)?.[1]}/v1/events`;
    const post = (body: unknown, query = '', bearer = token) =>
      fetch(url + query, {
        method: 'POST',
        headers: { Authorization: `Bearer ${bearer}`, 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      });
    const now = { eot: new Date().toISOString() };
    t.equal((await post(event(now), '', 'wrong')).status, 401);
    const stored = await post([event(now), event(now)], `?token=${token}`);
    t.strictSame([stored.status, await stored.json()], [202, { accepted: 2, duplicates: 0 }]);
    const invalid = await post([event({ eot: '2026-03-14T15:09:26' })]);
    t.match(
      [invalid.status, await invalid.json()],
      [400, { code: 'invalid_event', invalid: [{ index: 0 }] }],
    );
    t.equal((await post([])).status, 202);
    child.kill('SIGINT');
    t.strictSame(await exited, [1, null], 'a check has failed');
    await stderr;
    t.match(lines.slice(1), [
      'Tested: Acme <C>, 3.2.',
      /^By courtd \d+\.\d+\.\d+, for \d s until \S+Z, with 2 events in 4 requests from camera-1\.$/,
      'Note: 1 sign of life (empty arrays) came.',
      /^Refused, and not on purpose: 1 request, with 401\. The token is not/,
      '',
      /^not seen +same_event_id /,
    ]);
    t.match(lines.at(-1), /^No certificate/);
    const { certificate, checks } = JSON.parse(fs.readFileSync(json, 'utf8'));
    t.equal(certificate, false);
    t.equal(checks.length, 15);
    const failed = checks.filter(({ verdict }: { verdict: string }) => verdict === 'fail');
    t.match(failed, [
      { name: 'true_eot', message: /offset/, requests: [{ number: 3, status: 400 }] },
      { name: 'token_not_in_url', requests: [{ number: 2, source: 'camera-1', events: 2, status: 202 }] },
    ]);
    const page = fs.readFileSync(html, 'utf8');
    for (const one of checks) t.match(page, `(${one.name})`);
    const order = [
      /Failed: true_eot, token_not_in_url\./,
      /Acme &lt;C&gt;, 3\.2\./,
      /Not tested: same_event_id, /,
      /✗/,
      /–/,
      /✓/,
    ];
    const places = order.map((what) => page.search(what));
    t.strictSame(
      places,
      places.filter((place) => place >= 0).sort((a, b) => a - b),
      'what failed comes first',
    );
    t.notMatch(page, /(?:src|href)=/);
    for (const all of [said, page, lines.slice(1).join(), JSON.stringify(checks)])
      t.notOk(all.includes(token), 'the token is nowhere else');
    t.strictSame(fs.readdirSync(folder).sort(), ['verdict.html', 'verdict.json'], 'what it stored is gone');
  },
);

t.test('where no request came, it says where to look', async (t) => {
  const child = start(BIN, ['conformance', '--host', '127.0.0.1', '--port', '0'], {
    env: cleanEnvironment({}),
  });
  t.teardown(() => child.kill('SIGKILL'));
  const told = text(child.stdout);
  await once(child.stderr, 'data');
  child.kill('SIGTERM');
  t.match(await told, /\nNo request came: look at the address .* plain HTTP/);
});

t.test('what cannot be written or listened on is told before anything is tested', async (t) => {
  const wrong = ['conformance', '--port', '0', '-o'];
  const [name, place] = await Promise.all([
    courtd([...wrong, 'verdict.txt']),
    courtd([...wrong, path.join(temporaryFolder(t), 'none', 'verdict.json')]),
  ]);
  t.match(name, { status: 2, stdout: '', stderr: /\.json or \.html/ });
  t.match(place, { status: 1, stdout: '', stderr: /^courtd: Cannot write to [^\n]+-o\.\n$/ });
});

import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';
import { text } from 'node:stream/consumers';
import t from 'tap';
import { CHECK_NAMES, type Verdict } from '../../../src/vendor/conformance/judge.ts';
import { BIN, cleanEnvironment, courtd, start, temporaryFolder } from '../../harness/daemon.ts';
import { event, events } from '../../harness/events.ts';

t.test(
  'it prints a token, answers as a box does, injects every fault, and prints the verdict at SIGINT',
  async (t) => {
    const file = path.join(temporaryFolder(t), 'verdict.json');
    const child = start(BIN, ['conformance', '--port', '0', '-o', file], { env: cleanEnvironment({}) });
    t.teardown(() => child.kill('SIGKILL'));
    const exited = once(child, 'exit');
    const lines: string[] = [];
    const reader = readline.createInterface(child.stdout).on('line', (line) => lines.push(line));
    const [[token], [listening]] = await Promise.all([
      once(reader, 'line'),
      once(readline.createInterface(child.stderr), 'line'),
    ]);
    const stderr = text(child.stderr);
    t.match(token, /^[\w-]{43}$/);
    t.match(listening, /on 127\.0\.0\.1 port \d+/);
    const box = `http://127.0.0.1:${/port (\d+)/.exec(listening)?.[1]}`;
    const post = async (
      body: unknown,
      { bearer = token, place = '/v1/events', type = 'application/json' } = {},
    ) => {
      const headers = { Authorization: `Bearer ${bearer}`, 'Content-Type': type };
      const answer = await fetch(box + place, { method: 'POST', headers, body: JSON.stringify(body) });
      const { status } = answer;
      return { status, told: answer.headers.get('retry-after'), ...((await answer.json()) as object) };
    };
    const now = () => ({ eot: new Date().toISOString() });
    const one = event(now());
    t.match(await post(one, { bearer: 'wrong' }), { status: 401, told: '30', retryable: true });
    t.match(await post(one, { place: '/v2' }), { status: 404 });
    t.match(await post(one, { type: 'text/plain' }), { status: 415 });
    const invalid = event({ eot: '2026-03-14T15:09:26' });
    t.match(await post([one, invalid]), { status: 400, code: 'invalid_event', invalid: [{ index: 1 }] });
    t.match(await post([one, one]), { status: 202, accepted: 1, duplicates: 1 });
    t.match(await post([]), { status: 202, accepted: 0, duplicates: 0 });
    const seen = new Set<string>();
    for (let i = 0; i < 40; i++) {
      const { status, told, ...answer } = await post(events(2, now())).catch(() => ({
        status: 0,
        told: null,
      }));
      const named = 'invalid' in answer ? ' named' : '';
      seen.add(`${status}${told === null ? '' : ' told'}${named}`);
    }
    const wanted = ['202', '0', '503', '503 told', '401 told', '429 told', '413', '400', '400 named'];
    t.strictSame(seen, new Set([...seen, ...wanted]));
    child.kill('SIGINT');
    t.strictSame(await exited, [1, null], 'a check has failed');
    const verdict: Verdict = JSON.parse(lines.slice(1).join('\n'));
    t.strictSame(JSON.parse(fs.readFileSync(file, 'utf8')), verdict);
    t.strictSame(
      verdict.checks.map(({ name }) => name),
      CHECK_NAMES,
    );
    const failed = verdict.checks.filter((check) => check.verdict === 'fail').map(({ name }) => name);
    t.strictSame([verdict.certificate, failed], [false, ['survives_401', 'true_eot', 'loses_nothing']]);
    const told = await stderr;
    for (const status of [401, 404, 415, 400]) t.match(told, `${status}, not on purpose`);
    t.notOk(
      [told, ...lines.slice(1)].some((line) => line.includes(token)),
      'the token is nowhere else',
    );
  },
);

t.test('conformance reports a fault of its options, its port or its file', async (t) => {
  const [port, host] = await Promise.all([
    courtd(['conformance', '--port', '70000']),
    courtd(['conformance', '--port', '0', '--host', '192.0.2.1']),
  ]);
  t.match(port, { status: 2, stdout: '', stderr: '65535' });
  t.match(host, { status: 1, stdout: '', stderr: '--host' });
});

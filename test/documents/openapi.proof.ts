import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';
import t from 'tap';
import { courtd, Daemon, run, start, temporaryFolder } from '../harness/daemon.ts';
import { ROOT } from '../harness/documents.ts';
import { event } from '../harness/events.ts';
import { answerOf } from '../harness/rawClient.ts';

/** The OpenAPI document before judges from outside: Redocly's linter, and Prism between a client and courtd. */

const BINARIES = path.join(ROOT, 'node_modules/.bin');
const env = {
  ...process.env,
  REDOCLY_TELEMETRY: 'off',
  REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
  NO_COLOR: '1',
};

const folder = temporaryFolder(t);
const file = path.join(folder, 'openapi.json');
const written = await courtd(['openapi', '-o', file]);

/** @returns what the strictest of its own rule sets, where every warning is an error, says of a document. */
function lint(document: string) {
  const args = [path.join(BINARIES, 'redocly'), 'lint', '--extends', 'recommended-strict', document];
  return run(process.execPath, args, { env, cwd: folder });
}

t.test('Redocly finds nothing to say against it', async (t) => {
  t.strictSame([written.status, written.stdout], [0, '']);
  const { status, stdout, stderr } = await lint(file);
  t.equal(status, 0, stdout + stderr);
  t.match(stdout + stderr, 'Your API description is valid');
  t.notMatch(stdout + stderr, /warning/i);
  const wrong = path.join(folder, 'wrong.json');
  fs.writeFileSync(wrong, fs.readFileSync(file, 'utf8').replace('"confidence": 0.97', '"confidence": 97'));
  t.not((await lint(wrong)).status, 0, 'and does of one with an example that is not valid');
});

interface Violation {
  readonly location: readonly string[];
  readonly message: string;
}

t.test('Prism sees no answer that the document does not have', async (t) => {
  const daemon = await Daemon.start(t);
  const args = ['proxy', file, `http://127.0.0.1:${daemon.port}`, '--host', '127.0.0.1', '--port', '0'];
  const prism = start(process.execPath, [path.join(BINARIES, 'prism'), ...args], { env });
  const ended = once(prism, 'close');
  t.teardown(() => {
    prism.kill();
    return ended;
  });
  const lines = readline.createInterface(prism.stdout);
  const port = await new Promise<string>((resolve, reject) => {
    lines.on('line', (line) => {
      const port = /listening on http:\/\/127\.0\.0\.1:(\d+)/.exec(line)?.[1];
      if (port !== undefined) resolve(port);
    });
    void ended.then(() => reject(new Error('Prism ended before it listened')));
  });
  const post = async (body: unknown, headers: Record<string, string> = {}) => {
    const usual = { Authorization: `Bearer ${daemon.token}`, 'Content-Type': 'application/json' };
    const sent = { method: 'POST', headers: { ...usual, ...headers }, body: JSON.stringify(body) };
    const answer = await answerOf(fetch(`http://127.0.0.1:${port}/v1/events`, sent));
    const violations: Violation[] = JSON.parse(answer.headers.get('sl-violations') ?? '[]');
    const of = (side: string) =>
      violations.filter(({ location }) => location[0] === side).map(({ message }) => message);
    return { status: answer.status, request: of('request'), response: of('response') };
  };
  const good = event();
  const examples: { value: unknown }[] = Object.values(
    JSON.parse(fs.readFileSync(file, 'utf8')).paths['/v1/events'].post.requestBody.content['application/json']
      .examples,
  );
  for (const body of [...examples.map(({ value }) => value), good, good, { ...good, confidence: 0.5 }]) {
    t.strictSame(await post(body), { status: 202, request: [], response: [] });
  }
  const bad: readonly (readonly [number, unknown, Record<string, string>?])[] = [
    [400, event({ confidence: 2 })],
    [400, [event(), event({ eot: 'now' }), {}]],
    [400, 7],
    [400, Array.from({ length: 501 }, () => event())],
    [401, [], { Authorization: 'Bearer wrong' }],
  ];
  for (const [status, body, headers] of bad) {
    const seen = await post(body, headers);
    t.strictSame({ status: seen.status, response: seen.response }, { status, response: [] });
    // Prism looks at the form of a token only.
    if (status !== 401) t.not(seen.request.length, 0, `${status}: Prism sees what is wrong with it too`);
  }
});

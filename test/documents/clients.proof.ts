import { type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import t from 'tap';
import { cleanEnvironment, temporaryFolder } from '../harness/daemon.ts';
import { block, VENDOR_GUIDE } from '../harness/documents.ts';
import { events } from '../harness/events.ts';
import { answer, type Fault, FaultyServer } from '../harness/faultyServer.ts';

/**
 * The sample clients of the vendor's guide, against what a network does to them. Their waits take a thousandth of the time and are written
 * down; how long they wait for an answer is cut to a second. Nothing else of them is changed, but what they send.
 */

interface Sample {
  readonly language: string;
  readonly command: string;
  readonly file: string;
  /** The start of its own events: the lines of standard input are sent instead, one request per line. */
  readonly call: string;
  readonly instead: string;
  readonly changes: readonly (readonly [string, string])[];
  /** How it runs as in a camera, with standard input as the seen events; its minute is twenty milliseconds. */
  readonly run: Pick<Sample, 'instead' | 'changes'>;
  readonly waiting: Readonly<Record<string, string>>;
}

const SAMPLES: readonly Sample[] = [
  {
    language: 'python',
    command: 'python3',
    file: 'send.py',
    call: 'print(send([{',
    instead:
      'import sys\nfor line in sys.stdin:\n    send(json.loads(line))\n    print("stored", flush=True)\n',
    changes: [
      ['timeout=35', 'timeout=3'],
      ['sys, time', 'sys, slow as time'],
    ],
    run: { instead: 'run(json.loads(sys.stdin.readline()))\n', changes: [['>= 60', '>= 0.02']] },
    waiting: {
      'slow.py':
        'import sys, time\nmonotonic = time.monotonic\ndef sleep(s):\n    sys.stderr.write(f"{s}\\n")\n    time.sleep(s / 1000)\n',
    },
  },
  {
    language: 'js',
    command: process.execPath,
    file: 'send.mjs',
    call: 'console.log(await send([{',
    instead:
      "import readline from 'node:readline';\nfor await (const line of readline.createInterface(process.stdin)) {\n" +
      "  await send(JSON.parse(line));\n  console.log('stored');\n}\n",
    changes: [
      ['35_000', '3_000'],
      ['node:timers/promises', './slow.mjs'],
    ],
    run: {
      instead:
        "import { text } from 'node:stream/consumers';\nawait run(JSON.parse(await text(process.stdin)));\n",
      changes: [['60_000', '20']],
    },
    waiting: {
      'slow.mjs':
        "import { setTimeout as wait } from 'node:timers/promises';\n" +
        'export async function setTimeout(ms) {\n  console.error(ms / 1000);\n  await wait(ms / 1000);\n}\n',
    },
  },
];

const PAGE = '<html><body>Bad Gateway</body></html>';
const HTML = 'Content-Type: text/html';
const PROBLEM = 'Content-Type: application/problem+json';
const problem = (status: number, code: string, retryable: boolean, ...headers: string[]) =>
  answer(status, JSON.stringify({ status, code, error: 'Why.', retryable }), PROBLEM, ...headers);

/** No whole answer: the events may be stored or not. */
const LOST: readonly Fault[] = [
  { how: 'end' },
  { isStored: true, how: 'reset' },
  { isStored: true, bytes: answer(202, '{"accepted":3,"duplicates":0}').slice(0, -9), how: 'end' },
  { bytes: 'HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n', how: 'end' },
  { bytes: 'SSH-2.0-OpenSSH_9.2\r\n', how: 'end' },
  { bytes: `HTTP/1.1 202 ${'x'.repeat(70_000)}`, how: 'end' },
  { isStored: true, how: 'hang' },
];

/** Whole answers that are not courtd's: of a proxy, a portal, or a 202 that does not count what was sent. */
const OF_OTHERS: readonly Fault[] = [
  ...[200, 403, 404, 502].map((status) => answer(status, PAGE, HTML)),
  answer(302, '', 'Location: http://127.0.0.1:1/login'),
  ...['', '{"accepted":', 'null', '[]', '3', '{}', '\ufffd', '{"accepted":1,"duplicates":1}'].map((body) =>
    answer(202, body),
  ),
  answer(202, '{"accepted":"1","duplicates":"2"}'),
].map((bytes) => ({ bytes }));

/** Answers that the client waits for, and the seconds that it waits at least. */
const TOLD: readonly (Fault & { readonly waits: number })[] = [
  { bytes: problem(503, 'storage_full', true, 'Retry-After: 5'), waits: 5 },
  { bytes: problem(429, 'rate_limited', true, 'Retry-After: 2'), waits: 2 },
  {
    bytes: problem(401, 'unauthorized', true, 'Retry-After: 30', 'Connection: close'),
    waits: 30,
    how: 'end',
  },
  { bytes: answer(401, PAGE, HTML), waits: 30 },
  { bytes: problem(500, 'internal_error', true), waits: 1 },
  ...['Sun, 06 Nov 2034 08:49:37 GMT', '-5', '1e9', '99999999999', '0'].map((value) => ({
    bytes: problem(503, 'storage_busy', true, `Retry-After: ${value}`),
    waits: 1,
  })),
];

interface Sent {
  readonly status: unknown;
  readonly stored: number;
  /** Seconds that it wanted to wait, one after another. */
  readonly waits: number[];
  readonly stderr: string;
}

/** Sends requests, one after another. @returns how that went, once the client has ended. */
async function send(
  sample: Sample,
  folder: string,
  port: number,
  token: string,
  requests: unknown[],
): Promise<Sent> {
  let code = block(VENDOR_GUIDE, sample.language);
  for (const [from, to] of sample.changes) {
    if (!code.includes(from)) throw new Error(`${sample.language} has no ${from}`);
    code = code.replace(from, to);
  }
  code = code.slice(0, code.indexOf(sample.call)) + sample.instead;
  for (const [name, content] of Object.entries({ ...sample.waiting, [sample.file]: code }))
    fs.writeFileSync(path.join(folder, name), content);
  const BOX = `http://127.0.0.1:${port}`;
  const env = cleanEnvironment({ BOX, TOKEN: token, PYTHONDONTWRITEBYTECODE: '1' });
  const options: SpawnOptions = { cwd: folder, env, stdio: 'pipe' };
  const child = spawn('env', ['-u', 'NODE_OPTIONS', sample.command, sample.file], options);
  const exited = once(child, 'close');
  child.stdin!.on('error', () => {});
  child.stdin!.end(requests.map((request) => `${JSON.stringify(request)}\n`).join(''));
  const [stdout, stderr] = await Promise.all([text(child.stdout!), text(child.stderr!)]);
  const [status] = await exited;
  const waits = [...stderr.matchAll(/^[\d.]+$/gm)].map(Number);
  return { status, stored: stdout.split('stored\n').length - 1, waits, stderr };
}

for (const sample of SAMPLES) {
  t.test(`the client in ${sample.language}`, async (t) => {
    const request = () => events(3, { payload: { player_id: 'Ünï 🏸', n: 0.1 } });
    const sendTo = (box: FaultyServer, requests: unknown[], client = sample) =>
      send(client, temporaryFolder(t), box.port, 'x', requests);

    t.test('keeps every event until it is stored, whatever comes in place of an answer', async (t) => {
      const faults = [...LOST, ...OF_OTHERS, ...TOLD];
      const box = await FaultyServer.start(t, faults);
      const requests = Array.from({ length: 5 }, request);
      const { status, stored, waits, stderr } = await sendTo(box, requests);
      t.strictSame({ status, stored }, { status: 0, stored: 5 }, stderr);
      t.ok(box.isDone, 'every fault has come');
      t.strictSame([...box.stored.values()], requests.flat(), 'each event as it was sent, once');
      const sent = new Set(requests.map((request) => JSON.stringify(request)));
      const tries = new Set(box.bodies.map((body) => JSON.stringify(JSON.parse(body))));
      t.strictSame(tries, sent, 'each try is the same request');
      t.equal(waits.length, faults.length);
      t.ok(Math.min(...waits) >= 1 && Math.max(...waits) <= 36, `${waits}`);
    });

    t.test('waits as Retry-After says, and else twice as long each time, up to 30 s', async (t) => {
      const least = [...TOLD.map(({ waits }) => waits), 1, 2, 4, 8, 16, 30, 30, 30];
      const lost = Array.from({ length: 8 }, () => LOST[0]!);
      const box = await FaultyServer.start(t, [...TOLD.flatMap((fault) => [fault, undefined]), ...lost]);
      const { waits } = await sendTo(box, [...TOLD.map(request), request()]);
      t.equal(waits.length, least.length);
      t.ok(
        waits.every((wait, i) => wait >= least[i]! && wait <= least[i]! * 1.5),
        `${waits}`,
      );
      t.not(waits.at(-1), waits.at(-2), 'not in step with others');
    });

    t.test('reports what is never accepted, continues, and fails if the request is wrong', async (t) => {
      const never = [
        problem(400, 'invalid_json', false),
        problem(413, 'body_too_large', false),
        answer(413, '<p>too large</p>', HTML),
        answer(400, '{"code":"invalid_event","retryable":false,"invalid":[{"index":1}]}', PROBLEM),
      ].map((bytes) => ({ bytes }));
      const wrong = { bytes: problem(400, 'malformed_request', false) };
      const box = await FaultyServer.start(t, [...never, undefined, wrong]);
      const requests = [1, 1, 1, 1, 1, 2].map((count) => events(count));
      const sent = await sendTo(box, requests);
      t.match(sent, { stored: 5, waits: [], stderr: /invalid_json.*too_large.*too large.*malformed/s });
      t.not(sent.status, 0);
    });

    t.test('sends signs of life while it has no events', async (t) => {
      const end = { bytes: problem(400, 'invalid_encoding', false) };
      const box = await FaultyServer.start(t, [undefined, undefined, undefined, end]);
      const seen = request();
      const changes = [...sample.changes, ...sample.run.changes];
      await sendTo(box, [seen], { ...sample, ...sample.run, changes });
      t.strictSame(
        box.bodies.map((body) => JSON.parse(body)),
        [seen, [], [], []],
      );
    });
  });
}

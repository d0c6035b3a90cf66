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

const LOST: readonly Fault[] = [
  { name: 'the connection ends', how: 'end' },
  { name: 'a reset', how: 'reset' },
  { name: 'stored, and then a reset', isStored: true, how: 'reset' },
  {
    name: 'a body cut short',
    isStored: true,
    bytes: answer(202, '{"accepted":3,"duplicates":0}').slice(0, -9),
    how: 'end',
  },
  {
    name: 'chunks cut short',
    isStored: true,
    bytes: 'HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\n1d\r\n{"accepted":3',
    how: 'end',
  },
  {
    name: 'a chunk of no size',
    bytes: 'HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n',
    how: 'end',
  },
  { name: 'a head cut short', isStored: true, bytes: 'HTTP/1.1 202 Acc', how: 'end' },
  { name: 'not HTTP', bytes: 'SSH-2.0-OpenSSH_9.2\r\n', how: 'end' },
  { name: 'a line without end', bytes: `HTTP/1.1 202 ${'x'.repeat(70_000)}`, how: 'end' },
  {
    name: 'too many headers',
    bytes: answer(202, '{}', ...Array.from({ length: 3_000 }, (_, i) => `x-${i}: 1`)),
    how: 'end',
  },
  { name: 'no answer', isStored: true, how: 'hang' },
  { name: 'half an answer', isStored: true, bytes: answer(202, '{"accepted":3}').slice(0, -3), how: 'hang' },
];

const OF_OTHERS: readonly Fault[] = [
  { name: "a proxy's 502", bytes: answer(502, PAGE, HTML) },
  { name: "a proxy's 403", bytes: answer(403, PAGE, HTML) },
  { name: "a proxy's 404", bytes: answer(404, PAGE, HTML) },
  { name: "a portal's 200", bytes: answer(200, PAGE, HTML) },
  { name: 'a redirection', bytes: answer(302, '', 'Location: http://127.0.0.1:1/login') },
  ...['', '{"accepted":', 'null', '[]', '3', '"stored"', '{}', '\ufffd'].map((body) => ({
    name: `202 with the body ${body}`,
    bytes: answer(202, body),
  })),
  { name: 'fewer than were sent', bytes: answer(202, '{"accepted":1,"duplicates":1}') },
  { name: 'counts as text', bytes: answer(202, '{"accepted":"1","duplicates":"2"}') },
  { name: 'a count of none', bytes: answer(202, '{"accepted":3}') },
];

const TOLD: readonly (Fault & { readonly waits: number })[] = [
  { name: '503', bytes: problem(503, 'storage_full', true, 'Retry-After: 5'), waits: 5 },
  { name: '429', bytes: problem(429, 'rate_limited', true, 'Retry-After: 2'), waits: 2 },
  {
    name: '401',
    bytes: problem(401, 'unauthorized', true, 'Retry-After: 30', 'Connection: close'),
    waits: 30,
    how: 'end',
  },
  { name: "a proxy's 401", bytes: answer(401, PAGE, HTML), waits: 30 },
  {
    name: '408',
    bytes: problem(408, 'request_timeout', true, 'Connection: close'),
    waits: 1,
    how: 'end',
  },
  { name: '500', bytes: problem(500, 'internal_error', true), waits: 1 },
  ...['Sun, 06 Nov 2034 08:49:37 GMT', 'soon', '-5', '1e9', '99999999999', '', '0'].map((value) => ({
    name: `Retry-After: ${value}`,
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

    t.test('keeps every event until it is stored, whatever comes in place of an answer', async (t) => {
      const faults = [...LOST, ...OF_OTHERS, ...TOLD];
      const box = await FaultyServer.start(t, faults);
      const requests = Array.from({ length: 5 }, request);
      const { status, stored, waits, stderr } = await send(
        sample,
        temporaryFolder(t),
        box.port,
        'x',
        requests,
      );
      t.strictSame({ status, stored }, { status: 0, stored: 5 }, stderr);
      t.ok(box.isDone, 'every fault has come');
      t.strictSame([...box.stored.values()], requests.flat(), 'each event as it was sent, once');
      const sent = new Set(requests.map((request) => JSON.stringify(request)));
      for (const body of box.bodies)
        t.ok(sent.has(JSON.stringify(JSON.parse(body))), 'each try is the same request');
      t.equal(waits.length, faults.length);
      for (const wait of waits) t.ok(wait >= 1 && wait <= 36, `${wait} s`);
    });

    t.test(
      'waits the seconds of Retry-After, else 1 s and then twice as long each time, up to 30 s',
      async (t) => {
        const told = await FaultyServer.start(
          t,
          TOLD.flatMap((fault) => [fault, undefined]),
        );
        const asked = await send(sample, temporaryFolder(t), told.port, 'x', TOLD.map(request));
        t.equal(asked.waits.length, TOLD.length);
        for (const [i, { name, waits }] of TOLD.entries()) {
          const wait = asked.waits[i] ?? 0;
          t.ok(wait >= waits && wait <= waits * 1.5, `${name}: ${wait} s`);
        }
        const box = await FaultyServer.start(
          t,
          Array.from({ length: 8 }, () => LOST[0]!),
        );
        const { waits } = await send(sample, temporaryFolder(t), box.port, 'x', [request()]);
        const least = [1, 2, 4, 8, 16, 30, 30, 30];
        t.ok(
          waits.every((wait, i) => wait >= least[i]! && wait <= least[i]! * 1.5),
          waits.join(', '),
        );
        t.not(waits[6], waits[7], 'not in step with others');
      },
    );

    t.test('fails if the request itself is wrong, with the answer that says why', async (t) => {
      const box = await FaultyServer.start(t, [{ name: '', bytes: problem(404, 'not_found', false) }]);
      const sent = await send(sample, temporaryFolder(t), box.port, 'x', [events(2)]);
      t.match(sent, { stored: 0, waits: [], stderr: /not_found/ });
      t.not(sent.status, 0);
    });

    t.test('drops and reports a single event that is never accepted, and continues', async (t) => {
      const never: Fault[] = [
        { name: 'a fault of no event', bytes: problem(400, 'invalid_json', false) },
        { name: 'too large', bytes: problem(413, 'body_too_large', false) },
        { name: "a proxy's 413", bytes: answer(413, '<p>too large</p>', HTML) },
      ];
      const box = await FaultyServer.start(t, never);
      const [, , , ...good] = events(4);
      const requests = [events(1), events(1), events(1), good];
      const sent = await send(sample, temporaryFolder(t), box.port, 'x', requests);
      t.match(sent, { status: 0, stored: 4, waits: [], stderr: /invalid_json.*too_large.*too large/s });
      t.strictSame([...box.stored.values()], good);
    });

    t.test('sends signs of life while it has no events', async (t) => {
      const end = { name: 'enough', bytes: problem(404, 'not_found', false) };
      const box = await FaultyServer.start(t, [undefined, undefined, undefined, end]);
      const seen = request();
      const camera = { ...sample, ...sample.run, changes: [...sample.changes, ...sample.run.changes] };
      await send(camera, temporaryFolder(t), box.port, 'x', [seen]);
      t.strictSame(
        box.bodies.map((body) => JSON.parse(body)),
        [seen, [], [], []],
      );
    });
  });
}

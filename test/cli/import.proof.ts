import fs from 'node:fs';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import zlib from 'node:zlib';
import { Type } from '@sinclair/typebox';
import { Ajv } from 'ajv';
import t from 'tap';
import { BIN, courtd, Daemon, run, start, temporaryFolder } from '../harness/daemon.ts';
import { event, events } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';

runInProcess();

const Count = Type.Union([Type.Integer({ minimum: 0 }), Type.Null()]);
const COUNTS = { events: Type.Integer({ minimum: 0 }), accepted: Count, duplicates: Count, conflicts: Count };
const Fault = Type.Object(
  { line: Type.Union([Type.Integer({ minimum: 1 }), Type.Null()]), message: Type.String() },
  { additionalProperties: false },
);
const ImportedFile = Type.Object(
  { file: Type.String(), ...COUNTS, fault: Type.Union([Fault, Type.Null()]) },
  { additionalProperties: false },
);
const isAnswer = new Ajv().compile(
  Type.Object(
    { dry_run: Type.Boolean(), ...COUNTS, files: Type.Array(ImportedFile) },
    { additionalProperties: false },
  ),
);

type Test = Pick<typeof t, 'teardown' | 'equal' | 'match' | 'ok'>;

/** An empty database that no daemon uses, and a folder for files. */
async function prepare(t: Test) {
  const folder = temporaryFolder(t);
  const data = path.join(folder, 'data');
  t.equal((await courtd(['token', 'rotate', '--data', data])).status, 0);
  const file = (name: string, content: string | Uint8Array) => {
    fs.writeFileSync(path.join(folder, name), content);
    return path.join(folder, name);
  };
  const run = (...args: string[]) => courtd(['import', ...args, '--data', data]);
  const answer = async (...args: string[]) => {
    const { stdout } = await run('--json', ...args);
    const value = JSON.parse(stdout);
    t.ok(isAnswer(value), JSON.stringify(isAnswer.errors));
    return value;
  };
  const stored = async () => {
    const { stdout } = await courtd(['tail', '--json', '--after', '0', '--data', data]);
    return stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line).event);
  };
  return { folder, data, file, run, answer, stored };
}

function lines(sent: readonly unknown[]): string {
  return sent.map((one) => `${JSON.stringify(one)}\n`).join('');
}

t.test('plain and gzip, once each however often, as the protocol would have them', async (t) => {
  const { data, file, run, answer, stored } = await prepare(t);
  const sent = [...events(1_203), event({ event_id: 'rare', payload: { n: [1e10, 'Ü\u2028'] }, extra: {} })];
  const plain = file('plain', lines(sent.slice(0, 700)).replaceAll('\n', '\r\n\n'));
  const half = Math.floor(sent.length / 2);
  const members = [sent.slice(0, half), sent.slice(half)].map((some) => zlib.gzipSync(lines(some)));
  const packed = file('packed.txt', Buffer.concat(members));
  const noEnd = file('no-end', lines([{ ...sent[0], payload: {} }]).trimEnd());
  t.match(await run(plain), {
    status: 0,
    stdout: '',
    stderr: '700 events of 1 file: 700 accepted, 0 duplicates.\n',
  });
  const counts = { events: 1_905, accepted: 504, duplicates: 1_401, conflicts: 1, dry_run: false };
  t.match(await answer(packed, noEnd, plain), counts);
  t.match(await run(packed, noEnd), {
    status: 0,
    stderr:
      '1205 events of 2 files: 0 accepted, 1205 duplicates (1 with different content than what is stored).\n',
  });
  t.strictSame(await stored(), sent);
  const { stdout } = await courtd(['export', 'session-1', '--format', 'ndjson', '--data', data]);
  t.match(await answer(file('export', stdout)), { accepted: 0, duplicates: 1_204, conflicts: 0 });
  t.match(await answer(file('empty', '')), { events: 0, accepted: 0, files: [{ fault: null }] });
});

t.test('a fault: file and line, nothing of its batch, what came before, and the other files', async (t) => {
  const { file, run, answer, stored, folder } = await prepare(t);
  const sent = events(1_200);
  const text = lines(sent).split('\n');
  const faults: [name: string, line: string, message: RegExp][] = [
    ['json', '{"event_id": tru}', /the line is not JSON: unexpected text at byte 13\./],
    ['cut', '{"event_id":"x', /the line is not JSON: it ends too early\./],
    ['two', `${JSON.stringify(event())}${JSON.stringify(event())}`, /Put each event on a line of its own\./],
    ['list', JSON.stringify(events(2)), /the line is an array/],
    ['value', '17', /the line must be one event \(a JSON object\)\./],
    [
      'invalid',
      JSON.stringify(event({ confidence: 2, eot: 'x' })),
      /the event is invalid: confidence must be a number from 0 to 1, was 2; eot must be/,
    ],
    ['deep', `{"payload":${'['.repeat(40)}${']'.repeat(40)}}`, /nested deeper than 32 levels/],
    ['large', `{"note":"${'x'.repeat(9 * 1024 ** 2)}"}`, /longer than 8388608 bytes/],
    ['bytes', '\u0000\u0001', /not JSON/],
    ['bom', `\ufeff${JSON.stringify(event())}`, /byte order mark/],
  ];
  for (const [name, line, message] of faults) {
    const broken = file(name, text.toSpliced(777, 0, line).join('\n'));
    const dry = await run('--dry-run', broken);
    t.equal(dry.status, 1);
    t.ok(dry.stderr.startsWith(`${broken}:778: `), dry.stderr.slice(0, 300));
    t.match(dry.stderr, message);
  }
  t.equal((await stored()).length, 0, 'a dry run stores nothing');
  const broken = path.join(folder, 'json');
  const other = file('other', lines(events(3, { session_id: 'other' })));
  const missing = path.join(folder, 'missing');
  const { status, stderr } = await run(broken, missing, other);
  t.equal(status, 1);
  t.match(stderr, `${broken}:778: the line is not JSON`);
  t.match(stderr, `${broken}: Its events up to line 500 are stored.`);
  t.match(stderr, new RegExp(`^${missing}: it cannot be read: no such file or directory\\.$`, 'm'));
  t.match(stderr, /^503 events of 3 files: 503 accepted, 0 duplicates\.$/m);
  t.strictSame((await stored()).slice(0, 500), sent.slice(0, 500));
  t.match(await answer(broken), { accepted: 0, duplicates: 500, files: [{ fault: { line: 778 } }] });
  t.match(await answer(file('json', lines(sent))), { accepted: 700, duplicates: 500 });
});

t.test(
  'gzip that was cut short, is damaged, or has something behind it: the line, and no silence',
  async (t) => {
    const { file, run, stored } = await prepare(t);
    const sent = events(2_000);
    const packed = zlib.gzipSync(lines(sent));
    for (const [name, bytes, message] of [
      ['cut', packed.subarray(0, packed.length * 0.7), /:\d+: the gzip data ends too early/],
      ['no trailer', packed.subarray(0, -3), /:2001: the gzip data ends too early/],
      ['head', packed.subarray(0, 5), /: the gzip data ends too early/],
      ['sum', Buffer.concat([packed.subarray(0, -8), Buffer.alloc(8)]), /:\d+: the gzip data is damaged/],
      ['behind', Buffer.concat([packed, Buffer.alloc(1), packed]), /:2001: behind the gzip data/],
      ['text behind', Buffer.concat([packed, Buffer.from('text')]), /:\d+: the gzip data is damaged/],
    ] as const) {
      const { status, stderr } = await run('--dry-run', file(name, bytes));
      t.equal(status, 1, name);
      t.match(stderr, message);
    }
    const cut = file('cut', packed.subarray(0, packed.length * 0.7));
    const { stderr } = await run(cut);
    const [, line] = /:(\d+): the gzip data/.exec(stderr)!;
    const whole = await stored();
    t.ok(Number(line) > 1_000 && whole.length >= Number(line) - 501, `${whole.length} of ${line}`);
    t.strictSame(whole, sent.slice(0, whole.length));
  },
);

t.test('killed in the middle and run again: every event once', async (t) => {
  const { data, file, answer, stored } = await prepare(t);
  const sent = events(20_000);
  const packed = file('packed', zlib.gzipSync(lines(sent)));
  const database = path.join(data, 'courtd.db');
  const child = start(BIN, ['import', packed, '--data', data]);
  const ended = new Promise((resolve) => child.once('close', resolve));
  while ((fs.statSync(`${database}-wal`, { throwIfNoEntry: false })?.size ?? 0) < 500_000) await sleep(5);
  child.kill('SIGKILL');
  await ended;
  const before = (await stored()).length;
  t.ok(before > 0 && before < sent.length, `${before} were stored`);
  t.equal(before % 500, 0, 'whole batches');
  t.match(await answer(packed), { accepted: sent.length - before, duplicates: before });
  t.strictSame(await stored(), sent);
});

t.test('without a database nothing is made; a dry run needs none', async (t) => {
  const file = path.join(temporaryFolder(t), 'events');
  fs.writeFileSync(file, lines(events(3)));
  const nowhere = path.join(temporaryFolder(t), 'none');
  const { status, stdout } = await courtd(['import', '--dry-run', '--json', file, '--data', nowhere]);
  t.equal(status, 0);
  t.match(JSON.parse(stdout), {
    dry_run: true,
    events: 3,
    accepted: null,
    duplicates: null,
    conflicts: null,
  });
  t.match(await courtd(['import', file, '--data', nowhere]), {
    status: 1,
    stderr: /^courtd: There is no courtd database in/,
  });
  t.notOk(fs.existsSync(nowhere));
  t.equal((await courtd(['import'])).status, 2);
});

t.test(
  'beside a daemon: the same faults, by its rules too, and what stands before them is stored',
  async (t) => {
    const daemon = await Daemon.start(t, ['--venue', 'venue-1']);
    const folder = temporaryFolder(t);
    const file = (name: string, content: string | Uint8Array) => {
      fs.writeFileSync(path.join(folder, name), content);
      return path.join(folder, name);
    };
    const sent = events(1_000);
    const text = lines(sent).split('\n').slice(0, -1);
    const faults: readonly (readonly [name: string, line: string, message: RegExp])[] = [
      ['json', 'no JSON', /the line is not JSON/],
      ['event', JSON.stringify({ ...event(), confidence: 7 }), /confidence must be/],
      ['large', `{"note":"${'x'.repeat(9 * 1024 ** 2)}"}`, /longer than 8388608 bytes/],
      [
        'venue',
        JSON.stringify(event({ venue_id: 'other' })),
        /venue_id must be "venue-1", the venue of this box/,
      ],
    ];
    for (const [name, line, message] of faults) {
      const broken = file(name, text.toSpliced(777, 0, line).join('\n'));
      const { status, stderr } = await daemon.command('import', broken);
      t.equal(status, 1, name);
      t.ok(stderr.startsWith(`${broken}:778: `), stderr.slice(0, 300));
      t.match(stderr, message);
      t.match(stderr, `${broken}: Its events up to line 700 are stored.`);
      t.strictSame((await daemon.exported('session-1')).length, 700);
    }
    const packed = zlib.gzipSync(lines(sent));
    const cut = await daemon.command('import', file('cut', packed.subarray(0, -3)));
    t.equal(cut.status, 1);
    t.match(cut.stderr, /cut:1001: the gzip data ends too early/);
    const whole = await daemon.command('import', '--json', file('whole', packed));
    t.match(
      { ...whole, stdout: JSON.parse(whole.stdout) },
      {
        status: 0,
        stdout: { accepted: 100, duplicates: 900, conflicts: 0 },
      },
    );
    t.equal((await daemon.exported('session-1')).length, 1_000);
  },
);

t.test(
  'beside a daemon: killed in the middle and run again, over a restart too: every event once',
  async (t) => {
    const daemon = await Daemon.start(t);
    const sent = events(2_000);
    const stored = async () =>
      (await daemon.exported('session-1').catch(() => [])).map((line) => JSON.parse(line).event_id);
    /** Imports from a pipe, and waits until whole batches of a first part are stored; the last of it waits for what follows. */
    const begin = async (part: number) => {
      // A pipe of its own: what nobody has read would be in front of what follows.
      const pipe = path.join(temporaryFolder(t), 'events');
      t.equal((await run('mkfifo', [pipe])).status, 0);
      const child = start(BIN, ['import', '--json', pipe, '--data', daemon.data]);
      const texts = Promise.all([text(child.stdout), text(child.stderr)]);
      const ended = texts.then(([stdout, stderr]) => ({ stdout, stderr }));
      const writer = fs.createWriteStream(pipe);
      t.teardown(() => {
        child.kill('SIGKILL');
        writer.destroy();
      });
      writer.on('error', () => {});
      writer.write(lines(sent.slice(0, part)));
      while ((await stored()).length < part - 50) await sleep(50);
      return { child, ended, end: () => void writer.end(lines(sent.slice(part))) };
    };
    const first = await begin(550);
    first.child.kill('SIGKILL');
    await first.ended;
    t.equal((await stored()).length, 500, 'whole batches');

    const second = await begin(1_050);
    await daemon.stop('SIGKILL');
    second.end();
    await Daemon.run(t, daemon.data, daemon.token);
    let { stdout, stderr } = await second.ended;
    // It comes again for half a minute. A machine may be so busy that the daemon takes longer to start: then it says what to do.
    if (stderr.includes('import again when it is running')) {
      const file = path.join(temporaryFolder(t), 'events');
      fs.writeFileSync(file, lines(sent));
      ({ stdout } = await daemon.command('import', '--json', file));
    }
    const { accepted, duplicates, conflicts } = JSON.parse(stdout);
    t.strictSame([accepted + duplicates, conflicts], [sent.length, 0]);
    t.ok(duplicates >= 500, `${duplicates} duplicates`);
    t.strictSame((await stored()).sort(), sent.map((one) => one.event_id).sort());
  },
);

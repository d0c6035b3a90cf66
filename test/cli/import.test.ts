import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';
import t from 'tap';
import { BODY_BYTES } from '../../src/base/limits.ts';
import { BIN, cleanEnvironment, courtd, Daemon, temporaryFolder } from '../harness/daemon.ts';
import { event, events, eventText } from '../harness/events.ts';
import { FakeSystemd } from '../harness/fakeSystemd.ts';
import { commandInProcess, runInProcess } from '../harness/inProcess.ts';
import { stoppedBox } from '../harness/scratchStore.ts';
import { serveAgain } from '../harness/servingAgain.ts';

runInProcess();
serveAgain();

/** Lines that are not an event alone, and lines from a pipe. */

const folder = temporaryFolder(t);

function file(name: string, lines: readonly string[]): string {
  fs.writeFileSync(path.join(folder, name), lines.map((line) => `${line}\n`).join(''));
  return path.join(folder, name);
}

t.test('an export that says when events were received can be imported elsewhere', async (t) => {
  const [old, box] = [await Daemon.start(t), await Daemon.start(t, ['--venue', 'venue-1'])];
  // One with long numbers and fields of the names that an export uses, which parsing and printing again would change.
  const odd = eventText({
    received_at: '"mine"',
    event: '{"x":1}',
    payload: '{"n":12345678901234567890,"t":"}\\u00e9"}',
  });
  await old.post(events(3));
  await old.post(odd);
  const whole = await old.exported('session-1');
  const tail = await old.command('tail', '--json', '--after', '0');
  const before = Date.now();
  // The daemon's rule about the venue holds for what is inside.
  const imported = await box.command('import', file('received', [tail.stdout.trimEnd()]));
  t.match(imported, { status: 0, stderr: '4 events of 1 file: 4 accepted, 0 duplicates.\n' });
  t.strictSame(await box.exported('session-1'), whole);
  const { stdout } = await box.command('tail', '--json', '--after', '0');
  const received = stdout
    .trimEnd()
    .split('\n')
    .map((line) => Date.parse(JSON.parse(line).received_at));
  t.ok(
    received.every((ms) => ms >= before),
    'the time of receipt is that of the import',
  );
  const spaced = [
    odd,
    ...tail.stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.replaceAll(',"event":{', ' ,\t"event" : {')),
  ];
  const fleet = tail.stdout.trimEnd().replaceAll('{"seq":', '{"box":"venue-7","epoch":"a1B2","seq":');
  t.match(await box.command('import', file('others', [tail.stdout.trimEnd(), fleet, ...spaced])), {
    status: 0,
    stderr: '13 events of 1 file: 0 accepted, 13 duplicates.\n',
  });
});

t.test('a fault inside or around such an event is told with its line', async (t) => {
  const data = path.join(folder, 'data');
  await courtd(['token', 'rotate', '--data', data]);
  const around = (text: string, behind = '') =>
    `{"received_at":"2026-03-14T15:09:26.535Z","event":${text}${behind}}`;
  const faults: [line: string, message: RegExp][] = [
    [
      around(JSON.stringify(event({ confidence: 7 }))),
      /: the event is invalid: confidence must be .*, was 7\.\n/,
    ],
    [around('{"event_id": tru}'), /: the line is not JSON: unexpected text at byte 63\.\n/],
    [around(JSON.stringify(event()), ',"more":1'), /: the event is invalid: event_id is required/],
    [around(JSON.stringify(event())).slice(0, -1), /: the line is not JSON: it ends too early\.\n/],
    [`${around(JSON.stringify(event()))}}`, /: the line is not JSON/],
    [around(JSON.stringify([event()])), /: the event is invalid: event_id is required/],
    [around(`{"a":${'['.repeat(32)}${']'.repeat(32)}}`), /: the event is nested deeper than 32 levels\.\n/],
  ];
  for (const [line, message] of faults) {
    const wrong = file('wrong', [JSON.stringify(event()), line]);
    const { status, stderr } = await commandInProcess(['import', wrong, '--data', data]);
    t.equal(status, 1, line);
    t.ok(stderr.startsWith(`${wrong}:2: `), stderr);
    t.match(stderr, message);
    t.match(stderr, /Nothing of it is stored\. .*\n0 events of 1 file/s);
  }
});

t.test('a dry run tells every line that is wrong, fifty at most, and how many are right', async (t) => {
  const data = path.join(folder, 'dry');
  await courtd(['token', 'rotate', '--data', data]);
  const good = events(600).map((one) => JSON.stringify(one));
  const wrong = file('several', [...good, '{', ...good, JSON.stringify(event({ confidence: 7 })), '[]']);
  const dry = await courtd(['import', '--dry-run', wrong, '--data', data]);
  t.equal(dry.status, 1);
  const lines = dry.stderr.split('\n');
  t.match(lines, [
    /:601: the line is not JSON/,
    /:1202: .*confidence must be/,
    /:1203: the line is an array/,
  ]);
  t.equal(lines[3], '1200 events of 1 file checked and right, 3 lines are wrong; nothing was stored.');
  const many = file(
    'many-wrong',
    Array.from({ length: 60 }, () => '{}'),
  );
  const { stderr, stdout } = await courtd(['import', '--dry-run', '--json', many, '--data', data]);
  t.equal(stderr.split('\n').length, 52);
  t.match(stderr, /many-wrong: and 10 more lines that are wrong\.\n$/);
  t.match(JSON.parse(stdout), { events: 0, files: [{ fault: { line: 1 } }] });
});

t.test('an export in another format, and a file that is not there, say so', async (t) => {
  const data = path.join(folder, 'other');
  await courtd(['token', 'rotate', '--data', data]);
  const told = async (name: string) => (await commandInProcess(['import', name, '--data', data])).stderr;
  t.match(
    await told(file('csv', ['session_id,event_id', 's,e'])),
    /:1: the line is not JSON.* "courtd export --format ndjson"/,
  );
  const [workbook, parquet] = ['book.xlsx', 'lake.parquet'].map((name) => path.join(folder, name));
  fs.writeFileSync(workbook!, Buffer.from('PK\u0003\u0004 and more'));
  fs.writeFileSync(parquet!, Buffer.concat([Buffer.from('PAR1'), Buffer.alloc(9, 0xff)]));
  t.match(
    await told(workbook!),
    /book\.xlsx: it is a workbook or another ZIP archive\. Files of events are NDJSON/,
  );
  t.match(await told(parquet!), /lake\.parquet: it is a Parquet file\. Files of events are NDJSON/);
  t.match(await told(folder), `${folder}: it is a directory: name its files.\n`);
  const missing = path.join(folder, 'missing');
  t.equal(
    await told(missing),
    `${missing}: it cannot be read: no such file or directory.\n0 events of 1 file: 0 accepted, 0 duplicates.\n`,
  );
});

t.test('- is standard input', async (t) => {
  const data = path.join(folder, 'stdin');
  await courtd(['token', 'rotate', '--data', data]);
  const lines = [...events(3).map((one) => JSON.stringify(one)), '{'].map((line) => `${line}\n`).join('');
  const told = await new Promise<string>((resolve) => {
    const options = { env: cleanEnvironment() };
    const child = execFile(BIN, ['import', '-', '--data', data], options, (_error, _stdout, stderr) =>
      resolve(stderr),
    );
    child.stdin!.end(lines);
  });
  t.match(told, /^-:4: the line is not JSON.*\n-: Nothing of it is stored\./);
});

t.test(
  'while the daemon is down its venue is that of its settings, and a dry run asks them too',
  async (t) => {
    const box = stoppedBox(t);
    const [own, foreign] = [
      file('own', [eventText({})]),
      file('foreign', [eventText({ venue_id: '"other"' })]),
    ];
    const wrong = { status: 1, stderr: /^\S+foreign:1: .*venue_id must be "venue-1", the venue of this box/ };
    const systemd = new FakeSystemd(t);
    systemd.boot(box.data, 4000, { COURTD_VENUE: 'venue-1' });
    for (const args of [[], ['--dry-run']]) {
      const all = ['--data', box.data, ...args];
      const env = { COURTD_VENUE: 'venue-1' };
      t.match(await courtd(['import', foreign, ...all], env), wrong);
      t.match(await courtd(['import', own, ...all], env), { status: 0 });
      t.match(await systemd.courtd(['import', foreign, ...all]), wrong);
      t.match(await courtd(['import', foreign, '--dry-run', '--data', box.data]), { status: 0 });
    }
    const daemon = await Daemon.start(t, ['--venue', 'venue-1']);
    t.match(await daemon.command('import', '--dry-run', foreign), wrong);
  },
);

t.test(
  'a line of an export may hold the largest event that a camera may send, and none that is larger',
  async (t) => {
    const large = (bytes: number) => {
      const text = (note: string) => eventText({ payload: JSON.stringify({ note }) });
      return text('x'.repeat(bytes - Buffer.byteLength(text(''))));
    };
    const line = (bytes: number) =>
      `{"seq":1,"received_at":"2026-01-01T00:00:00.000Z","event":${large(bytes)}}`;
    const box = await Daemon.start(t);
    t.match(await box.command('import', file('largest', [line(BODY_BYTES)])), {
      status: 0,
      stderr: '1 event of 1 file: 1 accepted, 0 duplicates.\n',
    });
    for (const text of [line(BODY_BYTES + 1), large(BODY_BYTES + 1)]) {
      t.match(await box.command('import', file('larger', [text])), {
        status: 1,
        stderr: /larger:1: the line is longer than 8388608 bytes: no event may be so large/,
      });
    }
  },
);

t.test('a box that takes little in one request gets a file in smaller ones', async (t) => {
  const box = await Daemon.start(t, ['--body-limit', '2000']);
  const [small, large] = [event(), event({ payload: { note: 'x'.repeat(2_000) } })];
  const lines = [...events(250), small, large].map((one) => JSON.stringify(one));
  t.match(await box.command('import', file('many', lines.slice(0, -1))), {
    status: 0,
    stderr: '251 events of 1 file: 251 accepted, 0 duplicates.\n',
  });
  t.match(await box.command('import', file('one', lines.slice(-1))), {
    status: 1,
    stderr: /one:1: the line is \d+ bytes long; the limit is 2000 bytes/,
  });
  t.equal((await box.exported('session-1')).length, 251);
});

t.test(
  'over a slow pipe, packed, with a daemon that comes back with another rule: the line that breaks it',
  async (t) => {
    const box = await Daemon.start(t);
    const lines = [...events(120), ...events(2, { venue_id: 'other' }), ...events(30)].map((one) =>
      Buffer.from(`${JSON.stringify(one)}\n`),
    );
    const options = { env: cleanEnvironment() };
    const child = execFile(BIN, ['import', '-', '--data', box.data], options, () => {});
    let told = '';
    child.stderr!.on('data', (text) => {
      told += text;
    });
    const ended = new Promise((resolve) => child.once('close', resolve));
    const packed = zlib.createGzip();
    packed.pipe(child.stdin!);
    packed.write(Buffer.concat(lines.slice(0, 101)));
    packed.flush();
    await box.logged('first events from this client');
    await box.stop();
    await Daemon.run(t, box.data, box.token, ['--venue', 'venue-1']);
    packed.end(Buffer.concat(lines.slice(101)));
    await ended;
    t.match(told, /^-:121: the event is invalid: venue_id must be "venue-1", the venue of this box/);
    t.match(told, /-: Its events up to line 100 are stored\./);
    t.match(told, /100 events of 1 file: 100 accepted, 0 duplicates\./);
  },
);

import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { Readable } from 'node:stream';
import zlib from 'node:zlib';
import t from 'tap';
import { DataDirectory } from '../../src/base/dataDirectory.ts';
import { packMember } from '../../src/fleet/copy/members.ts';
import { eventOf } from '../../src/fleet/log/chunk.ts';
import { rebuildBox } from '../../src/fleet/rebuild/rebuildBox.ts';
import { decodeBatch } from '../../src/protocol/decodeBatch.ts';
import { readEpochs } from '../../src/store/layout/epochs.ts';
import { type CommandResult, courtd, Daemon, temporaryFolder } from '../harness/daemon.ts';
import { ERASED_ANNA } from '../harness/erasure.ts';
import { event } from '../harness/events.ts';
import { commandInProcess, runInProcess } from '../harness/inProcess.ts';
import {
  answersOf,
  anyEvents,
  isRefused,
  isSound,
  line,
  lines,
  logOf,
  ofEpoch,
  rebuildFrom,
  seqsOf,
} from '../harness/lostBox.ts';
import { Committer, scratch } from '../harness/scratchStore.ts';
import { serveAgain } from '../harness/servingAgain.ts';

runInProcess();
serveAgain();

/** A box is lost, and made anew from its log. */

const folder = temporaryFolder(t);
let directories = 0;
/** A data directory that is not there yet. */
const newData = () => path.join(folder, `data-${++directories}`);

const rebuild = (...args: string[]) => commandInProcess(['rebuild', ...args]);

/** Writes a file of a copy, EPOCH/AFTER, in chunks of ten. @param root ROOT/BOX. */
async function copyInto(root: string, name: string, lines: readonly string[]): Promise<void> {
  const file = path.join(root, `${name}.ndjson.gz`);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  const members = lines.flatMap((_, i) =>
    i % 10 === 0 ? [packMember(lines.slice(i, i + 10).join(''))] : [],
  );
  fs.writeFileSync(file, Buffer.concat(await Promise.all(members)));
}

/** @param files their lines by name. @returns ROOT/BOX. */
async function copyOf(files: Record<string, readonly string[]>, box?: object): Promise<string> {
  const root = path.join(fs.mkdtempSync(path.join(folder, 'copy-')), 'venue-7');
  for (const [name, lines] of Object.entries(files)) await copyInto(root, name, lines);
  if (box !== undefined) fs.writeFileSync(path.join(root, 'box.json'), JSON.stringify(box));
  return root;
}

t.test('a box that is rebuilt from its log says what the lost one said, and knows every event', async (t) => {
  const sent = anyEvents(400, 7);
  const batch = (from: number, to: number) => `[${sent.slice(from, to).join(',')}]`;
  // The first ones came three days ago, and some of them are pruned.
  const { folder: place, db } = scratch(t);
  const early = new Committer(db, () => Date.now() - 3 * 86_400_000);
  for (let at = 0; at < 200; at += 50) early.append(...decodeBatch(Buffer.from(batch(at, at + 50))));
  db.close();
  const lost = await Daemon.start(t, ['--rate-limit', '0'], place);
  for (let at = 200; at < 400; at += 50) t.equal((await lost.post(batch(at, at + 50))).status, 202);
  t.match(await lost.command('prune', '--older-than', '1d', '--type', 'BALL_SPEED', '--yes'), { status: 0 });
  const before = await answersOf(lost.data);
  const { stdout: log } = await lost.command('tail', '--json', '--after', '0');
  const stored = log.split('\n').length - 1;
  t.ok(stored > 300 && stored < 390, `${stored} are left`);

  const data = newData();
  const { status, stderr } = await rebuildFrom(log, data);
  t.equal(status, 0, stderr);
  t.match(stderr, new RegExp(`^Rebuilt in .*: ${stored} events of 3 sessions, seq \\d+ to 400, the newest `));
  t.match(stderr, 'No tokens came with it');
  t.strictSame(await answersOf(data), before);
  t.equal(logOf(data).join(''), log, 'every byte');
  t.ok(await isSound(data));

  const { stdout: token } = await courtd(['token', 'rotate', '--data', data]);
  const box = await Daemon.run(t, data, token.trim(), ['--rate-limit', '0']);
  const again = await box.post(`[${log.split('\n').slice(0, -1).map(eventOf).join(',')}]`);
  t.strictSame(await again.json(), { accepted: 0, duplicates: stored });
  t.equal(again.headers.get('Courtd-Conflicts'), null);
  await box.post(event());
  // The duplicates have taken seqs, as they do.
  t.strictSame(seqsOf(data).slice(-2), [400, 400 + stored + 1]);
  const { stderr: pruned } = await box.command('prune', '--older-than', '1d', '--yes');
  t.match(pruned, `${stored - 200} events`, 'retention goes on where it stood');
});

const TOKEN = 'k'.repeat(43);
const tokenRow = (id: number, token: string, more: object = {}) => ({
  id,
  hash: createHash('sha256').update(token).digest('hex'),
  created_ms: Date.UTC(2026, 10, 1) + id,
  expires_ms: null,
  revoked_ms: null,
  state: 'active',
  ...more,
});
const BOX = {
  box: 'venue-7',
  venue: null,
  epoch: 'a1',
  epochs: [{ name: 'a1', fromSeq: 0, shippedSeq: null }],
  version: '1.0.0',
  tokens: [
    tokenRow(1, 'gone'.padEnd(43, 'x'), { revoked_ms: Date.UTC(2026, 10, 2) }),
    tokenRow(3, 'old'.padEnd(43, 'x'), { expires_ms: Date.UTC(2099, 0) }),
    tokenRow(4, TOKEN),
  ],
};

t.test(
  'who was erased does not come back with a copy from before, nor with an import behind it',
  async (t) => {
    const her = (seq: number, type: string, more = {}) =>
      line(seq, { type, payload: { player_id: 'anna-17', ...more } });
    const old = [
      her(1, 'PLAYER_IDENTITY', { name: 'Anna' }),
      her(2, 'BALL_HIT', { shot_type: 'drive' }),
      line(3, { payload: { x_ft: 1, opponents: ['p-2', 'anna-17'] } }),
      her(4, 'BALL_HIT').replace('2026-03-14', '2030-03-14'),
      line(5, { type: 'BALL_HIT', payload: { player_id: 'erased-k3j5x9q2' } }).replace(
        '"event"',
        '"erased":true,"event"',
      ),
    ];
    const copy = await copyOf({ 'a1/0': old }, { ...BOX, erasures: [ERASED_ANNA] });
    const data = newData();
    const { status, stdout, stderr } = await rebuild(copy, '--data', data);
    t.strictSame([status, stdout], [0, '']);
    t.match(stderr, /\n3 events from before an erasure: they name nobody any more\.\n/);
    const log = logOf(data);
    t.notMatch(log.filter((_, i) => i !== 3).join(''), /anna/i);
    t.strictSame(
      [log[3], log[4]],
      [old[3], old[4]],
      'what she played since, and what was erased before, as it was',
    );
    t.match(log[0], /"erased":true,"event":\{.*"payload":\{\}/);
    t.match(log[2], /"erased":true,"event":\{.*"opponents":\["p-2","erased-\w{8}"\]/);
    t.ok(await isSound(data));

    const bare = newData();
    const lines = await rebuildFrom(log.join(''), bare);
    t.match(lines, {
      status: 0,
      stderr: /\nNo list of erased players came with it: erase again who had been erased/,
    });
    t.strictSame(logOf(bare), log);
  },
);

t.test('from a copy come the tokens, and an epoch that goes on behind the lost one', async (t) => {
  const files = { 'a1/0': lines(1, 9), 'a1/35': lines(38, 60), 'a1/9': lines(10, 35) };
  const copy = await copyOf(files, BOX);
  const data = newData();
  const { status, stdout } = await rebuild(copy, '--json', '--data', data);
  t.equal(status, 0);
  const { epoch, ...answer } = JSON.parse(stdout);
  t.strictSame(answer, {
    box: 'venue-7',
    events: 58,
    sessions: 1,
    first_seq: 1,
    last_seq: 60,
    newest_received_at: new Date(Date.UTC(2026, 10, 1) + 60).toISOString(),
    begins_after: 0,
    holes: 0,
    superseded: 0,
    taken_back: 0,
    tokens: 3,
    erasures: 0,
    erased: 0,
    follows_epoch: true,
  });
  const { stdout: tokens } = await courtd(['token', 'list', '--json', '--data', data]);
  t.match(JSON.parse(tokens), [
    { id: 1, state: 'revoked', expires_at: '2026-11-02T00:00:00.000Z' },
    { id: 3, state: 'retiring', expires_at: '2099-01-01T00:00:00.000Z' },
    { id: 4, state: 'active', created_at: '2026-11-01T00:00:00.004Z', last_used_at: null },
  ]);
  const { db } = scratch(t, data);
  t.match(readEpochs(db), [BOX.epochs[0], { name: epoch, fromSeq: 60, shippedSeq: null }]);
  db.close();
  const box = await Daemon.run(t, data, TOKEN);
  t.strictSame(await (await box.post([event(), event({ event_id: 'e-60' })])).json(), {
    accepted: 1,
    duplicates: 1,
  });
  t.equal((await box.post(event(), { Authorization: `Bearer ${'gone'.padEnd(43, 'x')}` })).status, 401);
  t.strictSame(seqsOf(data).slice(-2), [60, 61]);
  const [first, third, second] = Object.keys(files).map((name) => `${copy}/${name}.ndjson.gz`);
  t.match(await rebuild(third!, first!, second!, '--data', newData()), {
    status: 0,
    stderr: /58 events .*\nThe tokens are those of the lost box/,
  });
  t.match(await rebuild(`${copy}/a1/35.ndjson.gz`, '--data', newData()), {
    status: 0,
    stderr: / 23 events .*\nIt begins behind seq 35: /,
  });
});

t.test(
  'what is missing or damaged in a copy is an error that names both seqs, and can be passed over',
  async (t) => {
    const files = { 'a1/0': lines(1, 30), 'a1/30': lines(31, 60), 'a1/60': lines(62, 90) };
    const refused = async (copy: string, why: RegExp) => {
      const data = newData();
      await isRefused(t, rebuild(copy, '--data', data), data, why);
    };
    const allowed = async (copy: string, events: number, holes: number, told: RegExp) => {
      const data = newData();
      const { status, stdout, stderr } = await rebuild(copy, '--allow-holes', '--json', '--data', data);
      t.match({ status, ...JSON.parse(stdout) }, { status: 0, events, holes });
      t.match(stderr, told);
      t.ok(await isSound(data));
      t.match(
        await courtd(['tail', '--after', '0', '--data', data]),
        { status: 0, stderr: '' },
        'and said once',
      );
    };
    const missing = await copyOf(files, BOX);
    fs.rmSync(`${missing}/a1/30.ndjson.gz`);
    await refused(
      missing,
      /Events between seq 30 and seq 62 are missing: A file is missing before .*--allow-holes/,
    );
    await allowed(missing, 59, 1, /^courtd: Events between seq 30 and seq 62 are missing: [^\n]+\n$/);

    const damaged = await copyOf(files, BOX);
    const file = `${damaged}/a1/30.ndjson.gz`;
    const bytes = fs.readFileSync(file);
    bytes[Math.floor(bytes.length / 2)]! ^= 1;
    fs.writeFileSync(file, bytes);
    await refused(damaged, /Events between seq 40 and seq 51 are missing: .* is damaged from byte /);
    await allowed(damaged, 79, 1, /between seq 40 and seq 51 /);

    const torn = await copyOf(files, BOX);
    fs.truncateSync(`${torn}/a1/60.ndjson.gz`, fs.statSync(`${torn}/a1/60.ndjson.gz`).size - 3);
    t.match(await rebuild(torn, '--data', newData()), {
      status: 0,
      stderr:
        /^courtd: .* is damaged from byte \d+ to \d+: that is left out\.\nRebuilt .*: 80 events .* seq 1 to 81,/,
    });
    // The next file begins behind what is torn here: it was not the end.
    fs.copyFileSync(`${torn}/a1/60.ndjson.gz`, `${missing}/a1/60.ndjson.gz`);
    await copyInto(missing, 'a1/90', lines(91, 95));
    await refused(missing, /Events between seq 30 and seq 62 /);
    await allowed(missing, 30 + 20 + 5, 2, /seq 81 and seq 91 are missing/);
  },
);

t.test('what a restore had taken back stays away, also where the copy still has it', async (t) => {
  const all = [...lines(1, 20), line(21, { event_id: 'new', session_id: 'later' })];
  const expected = async (result: CommandResult, data: string, events: number) => {
    t.match(result, { status: 0, stderr: / events not taken: a restore of the lost box / });
    t.strictSame(logOf(data), all.slice(0, events));
    t.ok(await isSound(data));
  };
  const files = {
    'a1/0': [...lines(1, 15), line(16, { session_id: 'gone' }), ...lines(17, 30)],
    'b2/15': all.slice(15),
  };
  const data = newData();
  await expected(await rebuild(await copyOf(files), '--data', data), data, 21);
  const epochs = [
    ...BOX.epochs,
    { name: 'b2', fromSeq: 15, shippedSeq: null },
    { name: 'c3', fromSeq: 10, shippedSeq: null },
  ];
  const twice = newData();
  await expected(await rebuild(await copyOf(files, { ...BOX, epochs }), '--data', twice), twice, 10);
  const piped = newData();
  const log = ofEpoch('a1', files['a1/0']) + ofEpoch('b2', files['b2/15']);
  await expected(await rebuildFrom(log, piped), piped, 21);
  const back = newData();
  await isRefused(t, rebuildFrom(log + ofEpoch('a1', [line(40)]), back), back, /goes back to its epoch a1/);
  const behind = newData();
  await isRefused(
    t,
    rebuild(await copyOf({ 'a1/0': lines(1, 20), 'b2/25': lines(26, 30) }), '--data', behind),
    behind,
    /Events between seq 20 and seq 26 are missing: the epoch b2 begins behind seq 25/,
  );
});

t.test('an event that came again after it was pruned is there once, as it came last', async (t) => {
  const again = [
    ...lines(1, 10),
    line(11, { event_id: 'e-3', confidence: 0.5 }),
    line(12, { event_id: 'e-1', revision: 1 }),
  ];
  const data = newData();
  const { status, stderr } = await rebuildFrom(again.join(''), data);
  t.equal(status, 0, stderr);
  t.match(stderr, /: 11 events of 1 session, seq 1 to 12, .*\n1 event came again after a prune: /);
  t.strictSame(seqsOf(data), [1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
  t.ok(await isSound(data));
});

t.test('lines that are no log of one box are refused with their number, and nothing is made', async (t) => {
  const wrong: [input: string | Buffer, why: RegExp][] = [
    ['', /There are no events/],
    [`${JSON.stringify(event())}\n`, /Line 1 is no line of "tail --json"/],
    [line(1) + line(2).replace('{"seq"', '{ "seq"'), /Line 2 is no line/],
    [line(5) + line(4), /Line 2 has seq 4 behind seq 5: /],
    [line(5) + line(5), /Line 2 has seq 5 behind seq 5: /],
    [line(1) + line(2).replace('"event"', '"late":true,"event"'), /Line 2 is out of the order of arrival/],
    [line(0), /Line 1 has the seq 0/],
    [line(1).replace('2026-11-01', '2026-11-31'), /Line 1 has a "received_at" that is no time/],
    [line(1) + line(2, { confidence: 7 }), /Line 2 holds no event that courtd has stored: .*confidence/],
    [line(1).replace('}}\n', '}},{}}\n'), /Line 1 holds no event/],
    [line(1).replace('"event":', '"event":[').replace('}}\n', '}]}\n'), /Line 1 is no line/],
    [line(1).replace('"seq":1,', '"seq":9007199254740991,'), /Line 1 has the seq 9007199254740991, which/],
    [
      ofEpoch('a1', [line(1)]) + ofEpoch('a1', [line(2)], 'venue-8'),
      /Line 2 is of the box venue-8, .* venue-7/,
    ],
    [Buffer.concat([Buffer.from(line(1)), Buffer.of(0xff, 0x0a)]), /not UTF-8/],
  ];
  for (const [input, why] of wrong) {
    const data = newData();
    const options = { allowHoles: false, onEvents: () => {}, onMissing: () => {} };
    await t.rejects(rebuildBox(new DataDirectory(data), Readable.from([Buffer.from(input)]), options), {
      message: why,
    });
    t.strictSame(fs.readdirSync(data), []);
  }
  const cut = newData();
  const unpacked = rebuildFrom(zlib.gzipSync(line(1)).subarray(0, -4), cut);
  await isRefused(t, unpacked, cut, /Of standard input, the gzip data ends too early/);
  const data = newData();
  t.match(await rebuildFrom(zlib.gzipSync(line(3) + line(4) + line(5).slice(0, -1)), data), {
    status: 0,
    stderr: /^courtd: Line 3 has no end: it was cut off, and is left out\.\nRebuilt .*: 2 events/,
  });
  const copy = await copyOf({ 'a1/0': lines(1, 5) });
  const other = path.join(fs.mkdtempSync(path.join(folder, 'other-')), 'venue-8');
  fs.cpSync(copy, other, { recursive: true });
  for (const [sources, why] of [
    [[copy, other], /of different boxes/],
    [[path.dirname(copy)], /is no copy of a box/],
    [[path.join(folder, 'nowhere')], /Cannot read .*nowhere/],
  ] as const) {
    const place = newData();
    await isRefused(t, rebuild(...sources, '--data', place), place, why);
  }
  t.match(await rebuild('-', copy, '--data', newData()), { status: 2, stderr: /^courtd: Give "-" alone/ });
  const damaged = await copyOf({ 'a1/0': lines(1, 5) }, { ...BOX, tokens: [{ id: 1, hash: 'x' }] });
  const place = newData();
  await isRefused(t, rebuild(damaged, '--data', place), place, /box\.json is damaged: its "tokens"/);
});

t.test('where there is a database, or what was left of one, nothing is touched', async (t) => {
  const copy = await copyOf({ 'a1/0': lines(1, 5) }, BOX);
  const data = newData();
  t.match(await rebuild(copy, '--data', data), { status: 0 });
  const bytes = fs.readFileSync(path.join(data, 'courtd.db'));
  const second = await rebuild(copy, '--data', data);
  t.match(second, { status: 1, stderr: /is not empty \(the database\), .*: nothing was changed\. .*--data/ });
  t.ok(bytes.equals(fs.readFileSync(path.join(data, 'courtd.db'))));
  const left = newData();
  fs.mkdirSync(left);
  fs.writeFileSync(path.join(left, 'courtd.db-wal'), 'frames');
  t.match(await rebuild(copy, '--data', left), { status: 1, stderr: /\(courtd\.db-wal\)/ });
  t.strictSame(fs.readdirSync(left), ['courtd.db-wal']);
});

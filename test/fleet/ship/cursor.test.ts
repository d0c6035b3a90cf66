import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import type { Chunk } from '../../../src/fleet/log/chunk.ts';
import { isRecent } from '../../../src/fleet/report/reportFile.ts';
import { shipReport } from '../../../src/fleet/report/shipReport.ts';
import { Fenced, startCursor } from '../../../src/fleet/ship/cursor.ts';
import { knownUpTo } from '../../../src/store/read/shipLag.ts';
import { temporaryFolder } from '../../harness/daemon.ts';

const epoch = (name: string, fromSeq: number, shippedSeq: number | null = null) => ({
  name,
  fromSeq,
  shippedSeq,
});
const chunk = (after: number, last: number): Chunk => ({ after, last, lines: [] });

/** The position at which a log continues that finds these last messages. */
function start(epochs: ReturnType<typeof epoch>[], found: Record<string, Chunk | undefined>, ours: boolean) {
  const lastOf = async (name: string) =>
    Object.hasOwn(found, name) ? { place: 7, chunk: found[name] } : undefined;
  return startCursor(epochs, lastOf, async () => ours);
}

t.test('a log continues after the last message of its own subject, if that is of this log', async (t) => {
  t.strictSame(await start([epoch('a', 0)], {}, true), { seq: 0, place: 0 });
  const own = { a: chunk(0, 900), b: chunk(900, 950) };
  const both = [epoch('a', 0), epoch('b', 920)];
  t.strictSame(await start(both, own, true), { seq: 950, place: 7 });
  t.ok((await start(both, own, false).catch((error) => error)) instanceof Fenced);
  const other = start([epoch('a', 0)], { a: undefined }, true);
  t.ok((await other.catch((error) => error)) instanceof Fenced, 'what somebody else has written');
});

t.test('a restored log continues after the events that it shares with the old one', async (t) => {
  const restored = [epoch('a', 0), epoch('b', 800)];
  const at = async (last: number) => (await start(restored, { a: chunk(last - 50, last) }, false)).seq;
  t.equal(await at(900), 800, 'what came after the backup is not of this log');
  t.equal(await at(700), 700, 'what was not shipped when it was backed up');
  const twice = [epoch('a', 0), epoch('b', 800), epoch('c', 750)];
  t.equal((await start(twice, { a: chunk(0, 900) }, false)).seq, 750);
  t.equal((await start(twice, { a: chunk(0, 900), b: chunk(800, 850) }, false)).seq, 750);
  t.equal(
    (await start([epoch('z', 0), ...restored.slice(1)], { a: chunk(0, 900) }, false)).seq,
    0,
    'another box',
  );
});

t.test('a log that an operator gave a new epoch loses nothing', async (t) => {
  const renewed = [epoch('a', 0), epoch('b', 800, 600)];
  t.equal(
    (await start(renewed, { a: chunk(700, 780) }, true)).seq,
    780,
    'nothing is repeated if it is whole',
  );
  t.equal(
    (await start(renewed, { a: chunk(700, 780) }, false)).seq,
    600,
    'the last message is of the other copy',
  );
  t.equal((await start(renewed, { a: chunk(800, 900) }, true)).seq, 600);
});

t.test('shipped events of an older epoch count up to the point at which the two logs diverge', (t) => {
  const epochs = [epoch('a', 0), epoch('b', 800)];
  t.equal(knownUpTo('b', 950, epochs), 950);
  t.equal(knownUpTo('a', 950, epochs), 800);
  t.equal(knownUpTo('a', 700, epochs), 700);
  t.equal(knownUpTo('z', 700, epochs), undefined);
  t.equal(knownUpTo('a', null, epochs), undefined);
  t.equal(knownUpTo(undefined, undefined, epochs), undefined);
  t.end();
});

t.test('a report is read only if there is a whole one', (t) => {
  const folder = temporaryFolder(t);
  const file = path.join(folder, 'ship', 'ship.json');
  const at = new Date().toISOString();
  const nothing = { epoch: null, shipped_seq: null, last_ack_at: null, error: null };
  const report = { at, box: 'venue-7', url: 'nats://hq', state: 'behind', ...nothing } as const;
  t.equal(shipReport.read(folder), undefined);
  shipReport.write(folder, report);
  t.strictSame(shipReport.read(folder), report);
  t.equal(isRecent(report), true);
  t.equal(isRecent(report, Date.parse(at) + 60_000), false);
  for (const wrong of ['no JSON', '[]', `{"x":"${'x'.repeat(100_000)}"}`]) {
    fs.writeFileSync(file, wrong);
    t.equal(shipReport.read(folder), undefined, wrong.slice(0, 60));
  }
  fs.rmSync(file);
  fs.symlinkSync('/etc/passwd', file);
  t.equal(shipReport.read(folder), undefined, 'nor behind a link');
  t.end();
});

import fs from 'node:fs';
import path from 'node:path';
import t, { type Test } from 'tap';
import { BIN, cleanEnvironment, courtd, Daemon, run, temporaryFolder } from '../harness/daemon.ts';
import { event, events } from '../harness/events.ts';

/** Restores lines into a new data directory. */
async function restore(t: Test, lines: readonly string[]) {
  const data = path.join(temporaryFolder(t), 'new');
  const file = path.join(temporaryFolder(t), 'lines');
  fs.writeFileSync(file, lines.join(''));
  const command = `"$0" restore - --data "$1" < "$2"`;
  const result = await run('sh', ['-c', command, BIN, data, file], { env: cleanEnvironment() });
  return { ...result, data, left: fs.existsSync(data) ? fs.readdirSync(data) : [] };
}

/** As `fleet tail` has them. */
function ofFleet(lines: readonly string[], epoch = 'e1', box = 'venue-7'): string[] {
  return lines.map((line) => line.replace('{', `{"box":"${box}","epoch":"${epoch}",`));
}

const tail = async (data: string) =>
  (await courtd(['tail', '--json', '--after', '0', '--data', data])).stdout.split(/(?<=\n)/);

t.test('lines of headquarters make the box anew: the same lines, exports and duplicates', async (t) => {
  const daemon = await Daemon.start(t);
  const sent = [...events(40), event({ event_id: 'odd', payload: { huge: 1e21, nested: { a: [1, 'ü'] } } })];
  await daemon.post(sent);
  const lines = await tail(daemon.data);
  const session = String(sent[0]!.session_id);
  const exported = await daemon.exported(session);
  await daemon.stop();
  const { status, stderr, data, left } = await restore(t, ofFleet(lines));
  t.equal(status, 0, stderr);
  t.strictSame(
    left.filter((name) => name.endsWith('partial')),
    [],
  );
  t.strictSame(await tail(data), lines);
  const rebuilt = await Daemon.start(t, [], data);
  t.strictSame(await rebuilt.exported(session), exported);
  t.match(await (await rebuilt.post(sent)).json(), { accepted: 0, duplicates: 41 });
});

t.test(
  'what a restore of the lost box had taken back is not restored, and of two events with one key the later is',
  async (t) => {
    const daemon = await Daemon.start(t);
    for (const n of [1, 2, 3, 4]) await daemon.post(event({ event_id: `id-${n}` }));
    const lines = await tail(daemon.data);
    await daemon.stop();
    const again = lines[0]!.replace('"seq":1,', '"seq":9,');
    const other = lines[3]!.replace('"seq":4,', '"seq":3,');
    const { status, stderr, data } = await restore(t, [
      ...ofFleet(lines.slice(0, 3)),
      ...ofFleet([other, again], 'e2'),
    ]);
    t.equal(status, 0, stderr);
    t.strictSame(await tail(data), [lines[1], other, again]);
  },
);

t.test('what is no log of one box is refused with the number of the line, and nothing is left', async (t) => {
  const daemon = await Daemon.start(t);
  await daemon.post(events(3));
  const lines = await tail(daemon.data);
  await daemon.stop();
  for (const [given, message] of [
    [[], /no events/],
    [['hello\n'], /Line 1 /],
    [[...lines, lines[0]!], /Seq 1 follows seq 3/],
    [
      [...ofFleet(lines), ...ofFleet([lines[0]!.replace('"seq":1,', '"seq":4,')], 'e1', 'venue-8')],
      /venue-8/,
    ],
    [[lines[0]!, lines[1]!.slice(0, -1)], /Line 2 has no end/],
    [[lines[0]!.replace(/"eot":"[^"]*"/, '"eot":7')], /Line 1 /],
    [[`{"seq":1,${' '.repeat(9_000_000)}`], /./],
  ] as [string[], RegExp][]) {
    const { status, stderr, left } = await restore(t, given);
    t.equal(status, 1);
    t.match(stderr, message);
    t.strictSame(
      left.filter((name) => name.startsWith('courtd.db') || name.endsWith('partial')),
      [],
    );
  }
});

import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { BIN, Daemon, run, start, temporaryFolder } from '../harness/daemon.ts';
import { events } from '../harness/events.ts';

t.test('an import or a daemon that is killed in the middle: run again, every event once', async (t) => {
  const daemon = await Daemon.start(t);
  const sent = events(2_000);
  const linesOf = (some: readonly unknown[]) => some.map((one) => `${JSON.stringify(one)}\n`).join('');
  const stored = async () =>
    (await daemon.exported('session-1').catch(() => [])).map((line) => JSON.parse(line).event_id);
  /** Imports from a pipe, and waits until the whole batches of a first part are stored; the rest of it waits for what follows. */
  const begin = async (part: number) => {
    const pipe = path.join(temporaryFolder(t), 'events');
    t.equal((await run('mkfifo', [pipe])).status, 0);
    const child = start(BIN, ['import', pipe, '--data', daemon.data]);
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    const writer = fs.createWriteStream(pipe).on('error', () => {});
    t.teardown(() => {
      child.kill('SIGKILL');
      writer.destroy();
    });
    writer.write(linesOf(sent.slice(0, part)));
    while ((await stored()).length < part - 50) await sleep(50);
    return { child, ended, end: () => void writer.end(linesOf(sent.slice(part))) };
  };
  const first = await begin(550);
  first.child.kill('SIGKILL');
  await first.ended;
  t.equal((await stored()).length, 500, 'whole batches');

  const second = await begin(1_050);
  await daemon.stop('SIGKILL');
  second.end();
  t.equal(await second.ended, 1);
  await Daemon.run(t, daemon.data, daemon.token);
  const file = path.join(temporaryFolder(t), 'events');
  fs.writeFileSync(file, linesOf(sent));
  const { accepted, duplicates } = JSON.parse((await daemon.command('import', '--json', file)).stdout);
  t.strictSame([accepted, duplicates], [1_000, 1_000]);
  t.strictSame((await stored()).sort(), sent.map((one) => one.event_id).sort());
});

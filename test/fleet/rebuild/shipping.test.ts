import path from 'node:path';
import t from 'tap';
import { Daemon, temporaryFolder } from '../../harness/daemon.ts';
import { event, events } from '../../harness/events.ts';
import { commandInProcess, runInProcess } from '../../harness/inProcess.ts';
import { answersOf, anyEvents } from '../../harness/lostBox.ts';
import { serveAgain } from '../../harness/servingAgain.ts';
import { CopyingBox } from '../ship/copied.ts';

runInProcess();
serveAgain();

t.test('a box is lost twice: each time its copy makes it anew, and nothing is copied twice', async (t) => {
  const daemon = await Daemon.start(t, ['--rate-limit', '0']);
  const first = new CopyingBox(t, undefined, daemon.data);
  const sent = `[${anyEvents(300, 11).join(',')}]`;
  t.equal((await daemon.post(sent)).status, 202);
  t.match(await first.once(), { status: 0 });
  // A backup from before that, restored: what came meanwhile is only in the copy, and in an epoch that has ended.
  const backup = path.join(temporaryFolder(t), 'backup.db');
  t.match(await daemon.command('backup', backup), { status: 0 });
  t.equal((await daemon.post(events(40))).status, 202);
  t.match(await first.once(), { status: 0 });
  await daemon.stop();
  t.match(await daemon.command('restore', backup), { status: 0 });
  first.put(...events(5, { session_id: 's-1' }));
  t.match(await first.once(), { status: 0 });
  const before = await answersOf(first.data);

  let lost = first;
  let epochs = 2;
  for (const time of ['first', 'second']) {
    const data = path.join(temporaryFolder(t), 'data');
    const copied = lost.copied;
    const rebuilt = await commandInProcess(['rebuild', lost.copy, '--json', '--data', data]);
    t.match(rebuilt, { status: 0, stderr: '' });
    t.match(JSON.parse(rebuilt.stdout), {
      box: 'venue-7',
      holes: 0,
      taken_back: 40,
      tokens: 1,
      follows_epoch: true,
    });
    const box = new CopyingBox(t, lost.root, data);
    t.equal(await box.stored(), await lost.stored(), time);
    t.match(await box.once(), { status: 0 });
    t.equal(box.copied, copied, 'nothing is copied twice');
    if (time === 'first') t.strictSame(await answersOf(data), before);
    const again = await Daemon.run(t, data, daemon.token, ['--rate-limit', '0']);
    t.strictSame(await (await again.post(sent)).json(), { accepted: 0, duplicates: 300 }, 'the token works');
    t.strictSame(await (await again.post(event())).json(), { accepted: 1, duplicates: 0 });
    await again.stop();
    t.match(await box.once(), { status: 0 });
    const newest = (await box.lines()).at(-1)!;
    t.equal(box.copied, `${copied}${newest}`);
    t.equal(box.boxFile.epochs.length, ++epochs);
    lost = box;
  }
});

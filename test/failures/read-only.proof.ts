import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { courtd, Daemon, run, temporaryFolder } from '../harness/daemon.ts';
import { events } from '../harness/events.ts';
import { SmallDisk, withoutMount } from '../harness/smallDisk.ts';

t.test('a disk that is mounted read-only is named, to root too', { skip: withoutMount }, async (t) => {
  const disk = await SmallDisk.mount(t, 4);
  const daemon = await Daemon.start(t, [], disk.data);
  await daemon.post(events(3));
  await daemon.stop();
  await run('mount', ['-o', 'remount,ro', disk.folder]);
  const content = () =>
    fs
      .readdirSync(disk.data)
      .filter((name) => name !== 'control.sock')
      .map((name) => fs.readFileSync(path.join(disk.data, name)));
  const before = content();
  const { status, stdout, stderr } = await daemon.command('serve', '--host', '127.0.0.1', '--port', '0');
  t.strictSame({ status, stdout }, { status: 1, stdout: '' });
  t.match(
    stderr,
    /^courtd: [^\n]+data is on a read-only file system[^\n]+dmesg[^\n]+ --data[^\n]*\n$/,
    'and what to do: ext4 is mounted like that after an error',
  );
  t.strictSame(content(), before, 'nothing is changed');

  const copy = path.join(temporaryFolder(t), 'copy');
  await run('cp', ['-a', disk.data, copy]);
  const listed = await courtd(['session', 'list', '--json', '--data', copy]);
  t.match(JSON.parse(listed.stdout), [{ events: 3 }], 'the copy can be read');
});

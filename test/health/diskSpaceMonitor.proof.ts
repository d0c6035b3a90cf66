import { Writable } from 'node:stream';
import { pino } from 'pino';
import t from 'tap';
import { DataDirectory } from '../../src/base/dataDirectory.ts';
import { DiskSpaceMonitor } from '../../src/health/diskSpaceMonitor.ts';
import { SmallDisk, withoutMount } from '../harness/smallDisk.ts';

const LOW = 'disk_low';
const ROOM = 'there is room on the disk again';
const FLOOR_BYTES = 1024 ** 2;

function makeLogger() {
  const told: string[] = [];
  const lines = new Writable({
    write(chunk, _encoding, done) {
      const { problem, msg } = JSON.parse(chunk);
      told.push(problem ?? msg);
      done();
    },
  });
  return { logger: pino(lines), told };
}

t.test(
  'a disk that fills up is reported once, and so is room; small changes are not reported',
  { skip: withoutMount },
  async (t) => {
    const disk = await SmallDisk.mount(t, 4);
    const { logger, told } = makeLogger();
    const watch = new DiskSpaceMonitor(new DataDirectory(disk.folder), FLOOR_BYTES, logger);
    t.teardown(() => watch.stop());
    const at = async (freeBytes: number) => {
      disk.fill(freeBytes);
      await watch.check();
    };
    await watch.check();
    t.strictSame(told, []);
    await at(FLOOR_BYTES + 4096);
    t.strictSame(told, [], 'exactly enough');
    await at(FLOOR_BYTES - 4096);
    t.strictSame(told, [LOW]);
    disk.makeRoom();
    await at(FLOOR_BYTES + 4096);
    await at(FLOOR_BYTES - 4096);
    await at(0);
    t.strictSame(told, [LOW], 'a little more room and less again');
    disk.makeRoom();
    await watch.check();
    t.strictSame(told, [LOW, ROOM]);
  },
);

t.test('a directory that is gone is no end of the daemon', async (t) => {
  const { logger, told } = makeLogger();
  const watch = new DiskSpaceMonitor(new DataDirectory('/no/such/directory'), FLOOR_BYTES, logger);
  t.teardown(() => watch.stop());
  await watch.check();
  t.strictSame(told, ['cannot read how much space is free on the disk']);
});

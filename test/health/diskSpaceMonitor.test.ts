import { Writable } from 'node:stream';
import { pino } from 'pino';
import t from 'tap';
import { diskSpaceMonitor } from '../../src/health/diskSpaceMonitor.ts';
import type { StoreFacts } from '../../src/health/storeFacts.ts';

const FLOOR = 1024 ** 2;
const ROOM = 'there is room on the disk again';

t.test('a disk that fills up is reported once, and so is room; small changes are not reported', (t) => {
  const told: string[] = [];
  const lines = new Writable({
    write(chunk, _encoding, done) {
      const { problem, msg } = JSON.parse(chunk);
      told.push(problem ?? msg);
      done();
    },
  });
  let free: number | undefined;
  const facts = () => {
    if (free === undefined) throw new Error('no such directory');
    return { store: { free_bytes: free }, room: undefined } as unknown as StoreFacts;
  };
  const look = diskSpaceMonitor(FLOOR, facts, pino(lines));
  const at = (...each: (number | undefined)[]) => {
    for (free of each) look();
    return told.splice(0);
  };
  t.strictSame(at(undefined, 2 * FLOOR, FLOOR), [], 'exactly enough');
  t.strictSame(at(FLOOR - 1), ['disk_low']);
  t.strictSame(at(FLOOR + 4096, FLOOR - 4096, undefined, 0), [], 'a little more room and less again');
  t.strictSame(at(2 * FLOOR), [ROOM]);
  t.end();
});

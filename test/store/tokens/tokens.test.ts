import fs from 'node:fs';
import t from 'tap';
import { revokeToken, rotateToken } from '../../../src/store/tokens/tokens.ts';
import { event } from '../../harness/events.ts';
import { Committer, court, scratch } from '../../harness/scratchStore.ts';

t.test('the WAL is rewritten and synced before a token is made or revoked', (t) => {
  const { db } = scratch(t);
  new Committer(db).append(...court(event()));
  const [writes, syncs] = [
    t.capture(fs, 'writeSync', fs.writeSync),
    t.capture(fs, 'fsyncSync', fs.fsyncSync),
  ];
  for (const work of [() => rotateToken(db, 0, Date.now()), () => revokeToken(db, 1, Date.now())]) {
    const { size } = fs.statSync(`${db.name}-wal`);
    work();
    t.match(writes(), [{ args: [Number, Buffer, 0, size, 0], returned: size }]);
    t.ok(syncs().length > 0);
  }
  t.end();
});

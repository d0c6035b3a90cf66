import fs from 'node:fs';
import t from 'tap';
import { listTokens, revokeToken, rotateToken, tokenState } from '../../../src/store/tokens/tokens.ts';
import { TokenVerifier } from '../../../src/store/tokens/tokenVerifier.ts';
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

t.test('a token that a rotation without grace has ended stays so on a clock that is set back', async (t) => {
  const { db } = scratch(t);
  const nowMs = Date.now();
  // As after a kill of the daemon: a new one knows of no clock but that of the box.
  const isValid = () => new TokenVerifier(db, (error) => void t.error(error)).accepts(token, '192.0.2.7');
  const { token } = rotateToken(db, 3_600, nowMs + 9_000_000);
  rotateToken(db, 0, nowMs + 9_000_000);
  t.notOk(isValid());
  rotateToken(db, 3_600, nowMs);
  t.notOk(isValid(), 'nor does a later rotation bring it back');
  t.equal(tokenState(listTokens(db)[0]!, nowMs), 'expired');
});

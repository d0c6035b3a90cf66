import crypto from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import Database from 'better-sqlite3';
import t from 'tap';
import { listTokens, rotateToken, tokenState } from '../../../src/store/tokens/tokens.ts';
import { setClock } from '../../harness/clock.ts';
import type { Cleanup } from '../../harness/daemon.ts';
import { otherConnection, scratch } from '../../harness/scratchStore.ts';

let compared = 0;
const counting = {
  ...crypto,
  timingSafeEqual: (a: Buffer, b: Buffer) => {
    compared++;
    return crypto.timingSafeEqual(a, b);
  },
};
const { TokenVerifier } = await t.mockImport<typeof import('../../../src/store/tokens/tokenVerifier.ts')>(
  '../../../src/store/tokens/tokenVerifier.ts',
  { 'node:crypto': counting },
);

const noFailure = (error: unknown) => {
  throw error;
};

t.test('a request is compared with the tokens that may be accepted, not with all the old ones', async (t) => {
  const { db } = scratch(t);
  let token = '';
  for (let day = 0; day < 50; day++) token = rotateToken(db, 0, Date.now()).token;
  const older = token;
  token = rotateToken(db, 86_400, Date.now()).token;
  const guard = new TokenVerifier(db, noFailure);
  for (const [presented, isAccepted] of [
    [token, true],
    [older, true],
    ['wrong', false],
  ] as const) {
    compared = 0;
    t.equal(guard.accepts(presented, '127.0.0.1'), isAccepted);
    t.equal(compared, 2, 'the newest, and the one in its grace');
  }
  compared = 0;
  t.equal(guard.whyInvalid('wrong'), 'unknown token');
  t.equal(compared, 0, 'the reason is looked up by an index');
});

t.test('last uses are written again after a commit that failed', async (t) => {
  const { db } = scratch(t);
  const { token } = rotateToken(db, 0, Date.now());
  const guard = new TokenVerifier(db, noFailure);
  t.ok(guard.accepts(token, '192.0.2.7'));
  const failed = db.transaction(() => {
    guard.writeUses();
    throw new Error('the disk is full');
  });
  t.throws(failed, 'the disk is full');
  t.match(listTokens(db), [{ last_used_ms: null, last_used_from: null }]);
  db.transaction(() => guard.writeUses())();
  t.match(listTokens(db), [{ last_used_ms: null }], 'at most once a minute');
  db.transaction(() => guard.writeUses(0))();
  t.match(listTokens(db), [{ last_used_ms: Number, last_used_from: '192.0.2.7' }]);
  const before = db.prepare('SELECT total_changes()').pluck().get();
  db.transaction(() => guard.writeUses(0))();
  t.equal(
    db.prepare('SELECT total_changes()').pluck().get(),
    before,
    'what is written changes no page again',
  );
});

/** @returns a function that advances the monotonic clock, and not the clock of the box. */
function monotonicClock(t: Cleanup): (ms: number) => void {
  const { now } = performance;
  let passedMs = 0;
  setClock(t, () => now.call(performance) + passedMs);
  return (ms) => {
    passedMs += ms;
  };
}

t.test(
  'a grace ends when its time has passed, whatever else changes meanwhile, and its end is kept',
  async (t) => {
    const { folder, db } = scratch(t);
    const other = otherConnection(t, folder);
    const pass = monotonicClock(t);
    const nowMs = Date.now();
    const [long, older, newest] = [
      rotateToken(db, 0, nowMs - 9_000_000),
      rotateToken(db, 1, nowMs - 8_000_000),
      rotateToken(db, 3_600, nowMs),
    ].map(({ token }) => token);
    const guard = new TokenVerifier(db, noFailure);
    const accepted = () => [long, older, newest].map((token) => guard.accepts(token!, '192.0.2.7'));
    t.strictSame(accepted(), [false, true, true]);
    pass(1_800_000);
    other.exec("UPDATE token SET last_used_from = 'elsewhere'");
    await nextTurn();
    t.strictSame(accepted(), [false, true, true]);
    pass(1_801_000);
    t.strictSame(accepted(), [false, false, true]);
    guard.writeUses(0);
    const end = nowMs + 3_600_000;
    t.match(
      listTokens(db),
      [{ revoked_ms: null }, { expires_ms: end, revoked_ms: end }, { revoked_ms: null }],
      'not where only the clock of the box says so',
    );
    other.exec('UPDATE token SET revoked_ms = 1');
    await nextTurn();
    t.strictSame(accepted(), [false, false, false]);
    t.notOk(guard.isOpen);
  },
);

t.test('a box that starts with a clock of long ago does not prolong a grace', async (t) => {
  const { db } = scratch(t);
  const pass = monotonicClock(t);
  const laterMs = Date.now() + 9_000_000;
  const { token } = rotateToken(db, 0, laterMs);
  rotateToken(db, 60, laterMs);
  const guard = new TokenVerifier(db, noFailure);
  t.ok(guard.accepts(token, '192.0.2.7'));
  pass(61_000);
  t.notOk(guard.accepts(token, '192.0.2.7'));
});

t.test(
  'a token that a rotation without grace has ended is not accepted on a clock that is set back',
  async (t) => {
    const { db } = scratch(t);
    const nowMs = Date.now();
    const { token } = rotateToken(db, 3_600, nowMs + 9_000_000);
    const { undo } = rotateToken(db, 0, nowMs + 9_000_000);
    t.notOk(
      new TokenVerifier(db, noFailure).accepts(token, '192.0.2.7'),
      'the daemon was killed before it saw it',
    );
    undo();
    t.ok(new TokenVerifier(db, noFailure).accepts(token, '192.0.2.7'), 'nobody has seen the new one');
    rotateToken(db, 0, nowMs + 9_000_000);
    rotateToken(db, 3_600, nowMs);
    t.notOk(
      new TokenVerifier(db, noFailure).accepts(token, '192.0.2.7'),
      'nor does a later rotation bring it back',
    );
    t.equal(tokenState(listTokens(db)[0]!, nowMs), 'expired');
  },
);

/** @returns a verifier whose look at the database fails with `code` while there is one, and what it reports. */
function failing(t: Cleanup) {
  const { db } = scratch(t);
  const { token } = rotateToken(db, 0, Date.now());
  const state: { code: string | undefined; told: unknown[] } = { code: undefined, told: [] };
  const { prepare } = db;
  db.prepare = ((sql: string) => {
    const statement = prepare.call(db, sql);
    if (sql !== 'PRAGMA data_version') return statement;
    const get = () => {
      if (state.code !== undefined) throw new Database.SqliteError('it failed', state.code);
      return statement.pluck().get();
    };
    return { pluck: () => ({ get }) };
  }) as typeof prepare;
  return { state, token, guard: new TokenVerifier(db, (error) => state.told.push(error)) };
}

t.test('tokens that are locked for a moment are a 503, and are read again', async (t) => {
  const { state, token, guard } = failing(t);
  state.code = 'SQLITE_BUSY';
  t.throws(() => guard.accepts(token, '192.0.2.7'), { status: 503, code: 'storage_busy' });
  t.ok(guard.isOpen, 'not known');
  state.code = undefined;
  t.ok(guard.accepts(token, '192.0.2.7'));
  t.strictSame(state.told, []);
});

for (const code of ['SQLITE_IOERR_READ', 'SQLITE_CORRUPT']) {
  t.test(`after ${code} no token is accepted any more, and it is reported once`, async (t) => {
    const { state, token, guard } = failing(t);
    state.code = code;
    t.throws(() => guard.accepts(token, '192.0.2.7'), { status: 503, code: 'storage_failed' });
    state.code = undefined;
    t.throws(() => guard.accepts(token, '192.0.2.7'), { status: 503, code: 'storage_failed' });
    t.match(state.told, [{ code }]);
  });
}

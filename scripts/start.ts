import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import { isIPv6 } from 'node:net';
import path from 'node:path';
import type { DataDirectory } from '../src/base/dataDirectory.ts';
import { TOKEN_GRACE_S } from '../src/base/limits.ts';
import { becomeOwner } from '../src/base/owner.ts';
import { shellWord } from '../src/base/visibleText.ts';
import { loadVerbs, makeProgram, runProgram } from '../src/cli/program.ts';
import { say } from '../src/cli/terminal/output.ts';
import type { ServeOptions } from '../src/cli/verbs/daemon.ts';
import { serve } from '../src/cli/verbs/runDaemon.ts';
import { lockDirectory } from '../src/store/db/directoryLock.ts';
import { openDatabase } from '../src/store/db/openDatabase.ts';
import { findToken, isValid, rotateToken } from '../src/store/tokens/tokens.ts';

/**
 * `npm start` runs courtd for this machine only, with its data in ./data, and prints a command to try it. It takes the flags
 * and variables of `courtd serve`.
 */

/** The token itself, next to the database, which stores only its hash; the next start uses it again. */
const TOKEN_FILE = 'npm-start.token';
const LOCAL = '127.0.0.1';
/** Addresses that mean all of this machine's, with one that a client can use. */
const ANY: Readonly<Record<string, string>> = { '0.0.0.0': LOCAL, '::': '::1' };

const program = await loadVerbs(makeProgram(), ['serve']);
const serveCommand = program.commands.find((command) => command.name() === 'serve');
serveCommand?.action(async (_options, command) => {
  const isGiven = command.getOptionValueSource('host') !== 'default';
  await start({ ...command.optsWithGlobals(), ...(isGiven ? {} : { host: LOCAL }) });
});
const ownData = process.env.COURTD_DATA ? [] : ['--data', path.resolve(import.meta.dirname, '../data')];
await runProgram(program, ['serve', ...ownData, ...process.argv.slice(2)]);

async function start(options: ServeOptions): Promise<void> {
  becomeOwner(options.data.path);
  const token = prepare(options.data);
  const port = await serve(options);
  const headers = `-H 'Authorization: Bearer ${token}' -H 'Content-Type: application/json'`;
  const event = JSON.stringify(sampleEvent(options.venue ?? 'venue-1'));
  const host = ANY[options.host] ?? options.host;
  const address = `${isIPv6(host) ? `[${host}]` : host}:${port}`;
  const protocol = options.tlsCert === undefined ? 'http' : `--cacert ${shellWord(options.tlsCert)} https`;
  console.log(`\ncurl -sS -w '\\n' ${protocol}://${address}/v1/events ${headers} -d ${shellWord(event)}\n`);
}

/** Creates the database if there is none. @returns a valid token. @throws {OperatorError} if a daemon already runs. */
function prepare(data: DataDirectory): string {
  const db = openDatabase(data, { create: true });
  try {
    const lock = lockDirectory(data);
    try {
      const file = data.at(TOKEN_FILE);
      const known = fs.existsSync(file) ? fs.readFileSync(file, 'utf8').trim() : '';
      const token = findToken(db, known);
      if (token !== undefined && isValid(token, Date.now())) return known;
      // It has expired, is revoked, belongs to another database, or does not exist yet.
      const made = rotateToken(db, TOKEN_GRACE_S, Date.now());
      if (made.older > 0) say('courtd: a new token was made. The older ones stop working within a day.');
      fs.rmSync(file, { force: true });
      fs.writeFileSync(file, `${made.token}\n`, { mode: 0o600, flag: 'wx' });
      return made.token;
    } finally {
      lock.close();
    }
  } finally {
    // Before the daemon opens it: two connections in one process would share SQLite's locks.
    db.close();
  }
}

/** A ball that has just bounced. */
function sampleEvent(venueId: string) {
  return {
    event_id: randomBytes(12).toString('hex'),
    session_id: 'first-session',
    venue_id: venueId,
    court_id: 'court-1',
    eot: new Date().toISOString(),
    type: 'BALL_BOUNCE',
    confidence: 0.93,
    source: 'court-1-cam-1',
    schema_version: '1.0',
    revision: 0,
    payload: { x_ft: 12.4, y_ft: 7.85, is_in: true },
  };
}

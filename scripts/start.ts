import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { type ServeOptions, serve } from '../src/cli/serve.ts';
import { makeProgram, runProgram } from '../src/program.ts';
import { TOKEN_GRACE_S } from '../src/protocol/limits.ts';
import { openDatabase } from '../src/store/open.ts';
import { rotateToken } from '../src/store/tokens.ts';

/**
 * `npm start`: courtd on this machine with its data in ./data, a fresh token at each start, and a command to try it
 * with. Takes the flags and variables of `courtd serve`.
 */

const program = makeProgram();
const serveCommand = program.commands.find((command) => command.name() === 'serve');
serveCommand?.action(async (_options, command) => start(command.optsWithGlobals()));
const ownData = process.env.COURTD_DATA ? [] : ['--data', path.resolve(import.meta.dirname, '../data')];
await runProgram(program, ['serve', ...ownData, ...process.argv.slice(2)]);

async function start(options: ServeOptions): Promise<void> {
  const db = openDatabase(options.data, { create: true });
  const { token } = rotateToken(db, TOKEN_GRACE_S, Date.now());
  // Closed before the daemon opens it: two connections of one process would share SQLite's locks.
  db.close();
  const port = await serve(options);
  const headers = `-H 'Authorization: Bearer ${token}' -H 'Content-Type: application/json'`;
  const event = JSON.stringify(sampleEvent(options.venue ?? 'venue-1')).replaceAll("'", `'\\''`);
  const host = options.host === '0.0.0.0' ? '127.0.0.1' : options.host;
  const curl = options.tlsCert === undefined ? 'curl -sS http' : `curl -sS --cacert ${options.tlsCert} https`;
  process.stdout.write(`\n${curl}://${host}:${port}/v1/events ${headers} -d '${event}'\n\n`);
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

import fs from 'node:fs';
import type { Database } from 'better-sqlite3';
import { type Command, Option } from 'commander';
import { TOKEN_GRACE_S } from '../../base/limits.ts';
import { isoTime } from '../../base/units.ts';
import { askStatus } from '../../control/controlClient.ts';
import { type CameraAddresses, cameraAddresses } from '../../host/cameraAddresses.ts';
import { type DataOption, withDatabase } from '../../store/db/openDatabase.ts';
import {
  isValid,
  listTokens,
  revokeToken,
  rotateToken,
  type Token,
  tokenEndMs,
  tokenState,
} from '../../store/tokens/tokens.ts';
import { integer, json, parseDuration } from '../options/optionParsers.ts';
import { type JsonOption, printList, printNow, say } from '../terminal/output.ts';

export function define(command: Command): void {
  const grace = new Option('--grace <time>', 'how long older tokens keep working; 0 ends them at once');
  command
    .command('rotate')
    .description('make a new token, and print it')
    .addOption(grace.default(TOKEN_GRACE_S, '24h').argParser(parseDuration))
    .addHelpText('after', '\nExamples:\n  sudo courtd token rotate\n  sudo courtd token rotate --grace 0')
    .action((_options, command) => rotate(command.optsWithGlobals()));
  command
    .command('list')
    .description('show the tokens: their state and last use, never the secret')
    .addOption(json())
    .addHelpText('after', '\nExample:\n  sudo courtd token list')
    .action((_options, command) => list(command.optsWithGlobals()));
  command
    .command('revoke')
    .description('end a token at once')
    .argument('<id>', 'as "courtd token list" shows it', integer(1, Number.MAX_SAFE_INTEGER))
    .addHelpText('after', '\nExample:\n  sudo courtd token revoke 3')
    .action((id, _options, command) => revoke(id, command.optsWithGlobals()));
}

/** Prints the new token alone on standard output, and then the addresses for cameras. `grace` is in seconds. */
async function rotate(options: DataOption & { readonly grace: number }): Promise<void> {
  const now = Date.now();
  const isNew = !fs.existsSync(options.data.file('database'));
  const rotate = (db: Database) => rotateToken(db, options.grace, now);
  const { token, older } = await withDatabase(options, rotate, { create: true });
  printNow(`${token}\n`);
  const end = isoTime(now + options.grace * 1000);
  const ends = options.grace === 0 ? 'no longer work' : `stop working at ${end} at the latest`;
  const ending = older === 0 ? '' : ` The older tokens ${ends}.`;
  const made = isNew ? ` There was no database in ${options.data}: a new, empty one was made.` : '';
  say(`Give this token to every camera: it is shown only once.${ending}${made}`);
  sayAddresses(cameraAddresses(options.data, await askStatus(options.data).catch(() => undefined)));
}

function sayAddresses({ urls, isLocal, isTls, fingerprint }: CameraAddresses): void {
  if (urls.length === 0) return say('Start courtd, and run "courtd status" to see the address for cameras.');
  say('Cameras send to:');
  for (const url of urls) say(`  ${url}${isLocal ? ' (this machine only)' : ''}`);
  if (isTls) {
    const unknown = 'not known: the certificate cannot be read (COURTD_TLS_CERT)';
    say(`SHA-256 fingerprint of the certificate: ${fingerprint ?? unknown}`);
  }
}

async function list(options: DataOption & JsonOption): Promise<void> {
  const tokens = (await withDatabase(options, listTokens)).map((token) => describe(token, Date.now()));
  printList(tokens, options, 'There is no token yet: "courtd token rotate" makes one.');
}

async function revoke(id: number, options: DataOption): Promise<void> {
  const now = Date.now();
  const { before, left } = await withDatabase(options, (db) => ({
    before: revokeToken(db, id, now),
    left: listTokens(db).filter((token) => isValid(token, now)).length,
  }));
  const endMs = tokenEndMs(before) ?? Infinity;
  if (endMs <= now) say(`Token ${id} ended at ${isoTime(endMs)}: nothing changed.`);
  else say(`Token ${id} is revoked: requests with it are answered 401 from now on.`);
  if (left === 0)
    say('No token is left, so every request is answered 401: "courtd token rotate" makes a new one.');
}

function describe(token: Token, nowMs: number) {
  return {
    id: token.id,
    state: tokenState(token, nowMs),
    created_at: isoTime(token.created_ms),
    expires_at: isoTime(tokenEndMs(token)),
    last_used_at: isoTime(token.last_used_ms),
    last_used_from: token.last_used_from,
  };
}

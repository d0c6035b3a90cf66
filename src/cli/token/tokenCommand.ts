import { Argument, type Command, Option } from 'commander';
import { TOKEN_GRACE_S } from '../../base/limits.ts';
import { integer, json, parseDuration } from '../options/optionParsers.ts';

export function addToken(program: Command): void {
  const token = program.command('token').description("the venue's shared bearer token");
  token
    .command('rotate')
    .description(
      'make a new token and print it, and on standard error the addresses that cameras may use with it; the older tokens keep working until the grace ends',
    )
    .addOption(
      new Option('--grace <time>', 'how long the older tokens keep working: 0, or a number with s, m, h or d')
        .default(TOKEN_GRACE_S, '24h')
        .argParser(parseDuration),
    )
    .addHelpText(
      'after',
      '\nExamples:\n  sudo courtd token rotate\n  sudo courtd token rotate --grace 0     the older ones end at once',
    )
    .action(async (_options, command) => (await import('./token.ts')).rotate(command.optsWithGlobals()));
  token
    .command('list')
    .description('show the tokens: their state and last use, never the secret')
    .addOption(json())
    .addHelpText('after', '\nExample:\n  sudo courtd token list')
    .action(async (_options, command) => (await import('./token.ts')).list(command.optsWithGlobals()));
  token
    .command('revoke')
    .description('end a token at once')
    .addArgument(
      new Argument('<id>', 'as "courtd token list" shows it').argParser(integer(1, Number.MAX_SAFE_INTEGER)),
    )
    .addHelpText('after', '\nExample:\n  sudo courtd token revoke 3')
    .action(async (id, _options, command) =>
      (await import('./token.ts')).revoke(id, command.optsWithGlobals()),
    );
}

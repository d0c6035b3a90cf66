import type { Command } from 'commander';
import { printText } from '../terminal/output.ts';

/** `courtd version`, which people try before `--version`. */
export function addVersion(program: Command, version: string): void {
  program
    .command('version')
    .description('show the version')
    .action(() => printText(`${version}\n`));
}

/** `courtd help [COMMAND]`. It replaces commander's own, which prints the general help for an unknown command. */
export function addHelp(command: Command): void {
  for (const child of command.commands) if (child.commands.length > 0) addHelp(child);
  command
    .helpCommand(false)
    .command('help')
    .description('show what a command does, with its arguments and options')
    .argument('[command...]')
    .action((names: readonly string[]) => {
      let found = command;
      for (const name of names) {
        const child = found.commands.find((one) => one.name() === name);
        if (child === undefined) {
          const known = found.commands.map((one) => one.name()).join(', ');
          const instead = known === '' ? '' : `, only ${known}`;
          command.error(`error: there is no command "${names.join(' ')}"${instead}.`, { exitCode: 2 });
        }
        found = child!;
      }
      found.outputHelp();
    });
}

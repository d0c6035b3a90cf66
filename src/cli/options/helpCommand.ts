import type { Command } from 'commander';

/** `courtd version`, as people try it before `--version`. */
export function addVersion(program: Command, version: string): void {
  program
    .command('version')
    .description('show the version')
    .action(() => void process.stdout.write(`${version}\n`));
}

/** `courtd help [COMMAND]`, in place of commander's, which takes a command that is not there for one without help. */
export function addHelp(command: Command): void {
  for (const child of command.commands) if (child.commands.length > 0) addHelp(child);
  command
    .helpCommand(false)
    .command('help')
    .description('show what a command does and takes')
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

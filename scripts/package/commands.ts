import type { Argument, Command, Option } from 'commander';

/** One command of the program, as the man page and the completion see it. */
export interface CommandEntry {
  /** What is typed after `courtd`: `['token', 'rotate']`; empty for the program itself. */
  readonly path: readonly string[];
  readonly description: string;
  readonly arguments: readonly Argument[];
  /** Its own, without those of the program and without `--help`. */
  readonly options: readonly Option[];
  /** The names of the commands below it. */
  readonly children: readonly string[];
}

/** @returns the program and every command below it, parents first, in the order of `--help`. */
export function commandsOf(program: Command): CommandEntry[] {
  const below = (command: Command, path: readonly string[]): CommandEntry[] => {
    const help = command.createHelp();
    // commander's own `help` only repeats what --help says.
    const children = help.visibleCommands(command).filter((child) => child.name() !== 'help');
    const entry = {
      path,
      description: command.description(),
      arguments: help.visibleArguments(command),
      options: help.visibleOptions(command).filter((option) => option.long !== '--help'),
      children: children.map((child) => child.name()),
    };
    return [entry, ...children.flatMap((child) => below(child, [...path, child.name()]))];
  };
  return below(program, []);
}

/** The options that every command takes, also after its name; `--version` is of the program alone. */
export function globalOptions([program]: readonly CommandEntry[]): Option[] {
  return (program?.options ?? []).filter((option) => option.long !== '--version');
}

/** @returns how the default of an option is typed; undefined where it has none. */
export function defaultOf(option: Option): string | undefined {
  if (option.defaultValue === undefined || option.defaultValue === false) return undefined;
  return option.defaultValueDescription ?? String(option.defaultValue);
}

/** @returns how an argument stands in a usage line: `<session>`, `[file]`, `<type...>`. */
export function usageOf(argument: Argument): string {
  const name = `${argument.name()}${argument.variadic ? '...' : ''}`;
  return argument.required ? `<${name}>` : `[${name}]`;
}

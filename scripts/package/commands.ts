import type { Argument, Command, Option } from 'commander';

/** One command of the program, as its documents list it. */
export interface CommandEntry {
  readonly command: Command;
  /** The words after `courtd`: `['token', 'rotate']`; empty for the program itself. */
  readonly path: readonly string[];
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
    // `courtd help` prints what --help prints.
    const children = help.visibleCommands(command).filter((child) => child.name() !== 'help');
    const entry = {
      command,
      path,
      arguments: help.visibleArguments(command),
      options: command.options.filter(({ hidden }) => !hidden),
      children: children.map((child) => child.name()),
    };
    return [entry, ...children.flatMap((child) => below(child, [...path, child.name()]))];
  };
  return below(program, []);
}

/** @returns the default of an option as one would type it; undefined if it has none. */
export function defaultOf(option: Option): string | undefined {
  if (option.defaultValue === undefined || option.defaultValue === false) return undefined;
  return option.defaultValueDescription ?? String(option.defaultValue);
}

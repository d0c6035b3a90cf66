import type { Argument, Command, Option } from 'commander';
import { type CommandEntry, commandsOf, globalOptions } from './commands.ts';

/** Bash completion, without any help of the package bash-completion: commands, options, choices, files. */
export function completionOf(program: Command): string {
  const commands = commandsOf(program);
  const globals = globalOptions(commands);
  return `# bash completion for courtd, made from its commands.

# What can follow "courtd $1": sets commands, options, valued (options that take a value) and files.
_courtd_at() {
  commands='' options='' valued='' files=''
  case $1 in
${commands.map((entry) => wordsOf(entry, globals)).join('\n')}
  esac
}

_courtd() {
  local commands options valued files i word at='' option=''
  local current=\${COMP_WORDS[COMP_CWORD]}
  COMPREPLY=()
  _courtd_at ''
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    if [[ -n $option ]]; then
      # Bash takes "--format=csv" for three words.
      [[ $word == = ]] || option=''
    elif [[ " $valued " == *" $word "* ]]; then
      option=$word
    elif [[ " $commands " == *" $word "* ]]; then
      at="\${at:+$at }$word"
      _courtd_at "$at"
    fi
  done
  [[ $current != = ]] || current=''
  if [[ -z $option ]]; then
    if [[ $current == -* ]]; then
      COMPREPLY=($(compgen -W "$options" -- "$current"))
    elif [[ -n $commands ]]; then
      COMPREPLY=($(compgen -W "$commands" -- "$current"))
    elif [[ -n $files ]]; then
      _courtd_files -f
    fi
    return
  fi
  case "$at $option" in
${commands.flatMap((entry) => choicesOf(entry, globals)).join('\n')}
  esac
}

_courtd_files() {
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen "$1" -- "$current")
}

complete -F _courtd courtd
`;
}

function wordsOf(entry: CommandEntry, globals: readonly Option[]): string {
  const all = optionsOf(entry, globals);
  const valued = all.filter((option) => option.required || option.optional);
  const values = {
    commands: entry.children,
    options: [...all.flatMap(namesOf), '--help'],
    valued: valued.flatMap(namesOf),
    files: entry.arguments.some(isPath) ? ['yes'] : [],
  };
  const set = Object.entries(values).filter(([, words]) => words.length > 0);
  const lines = set.map(([name, words]) => `      ${name}='${words.join(' ')}'`);
  return `    '${entry.path.join(' ')}')\n${lines.join('\n')}\n      ;;`;
}

function choicesOf(entry: CommandEntry, globals: readonly Option[]): string[] {
  return optionsOf(entry, globals).flatMap((option) => {
    const action = valuesOf(option);
    if (action === undefined) return [];
    const patterns = namesOf(option).map((name) => `'${entry.path.join(' ')} ${name}'`);
    return [`    ${patterns.join(' | ')}) ${action} ;;`];
  });
}

function valuesOf(option: Option): string | undefined {
  if (option.argChoices) {
    return `COMPREPLY=($(compgen -W '${option.argChoices.join(' ')}' -- "$current"))`;
  }
  if (/[<[]dir/.test(option.flags)) return '_courtd_files -d';
  return /[<[](file|path)/.test(option.flags) ? '_courtd_files -f' : undefined;
}

function isPath(argument: Argument): boolean {
  return /file|dir|path/.test(argument.name());
}

function optionsOf({ path, options }: CommandEntry, globals: readonly Option[]): Option[] {
  return path.length === 0 ? [...options] : [...options, ...globals];
}

/** `-o` and `--output`. */
function namesOf({ short, long }: Option): string[] {
  return [short, long].filter((name) => name !== undefined);
}

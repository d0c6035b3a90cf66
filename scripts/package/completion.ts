import fs from 'node:fs';
import path from 'node:path';
import type { Command, Option } from 'commander';
import { commandsOf } from './commands.ts';

const SCRIPT = path.join(import.meta.dirname, 'courtd.bash');
/** What the value of an option, or an argument, is called if it is a file. */
const FILES = ['file', 'files', 'place', 'source'];

/** @param program with all its verbs loaded. @returns the completion for bash: `courtd.bash` with the commands and options filled in. */
export function completionOf(program: Command): string {
  const commands = commandsOf(program);
  const options = [...new Map(commands.flatMap((one) => one.options).map((one) => [one.long, one])).values()];
  const flagsOf = (list: readonly Option[]) =>
    list.flatMap(({ short, long }) => [short, long].filter((flag) => flag !== undefined));
  const placeholderOf = (flags: string) => /<(.+)>/.exec(flags)?.[1] ?? '';
  const values = options.flatMap((option) => {
    const words = option.argChoices && `_courtd_words '${option.argChoices.join(' ')}'`;
    const kind = placeholderOf(option.flags);
    const files = kind === 'dir' ? '_courtd_files -d' : FILES.includes(kind) ? '_courtd_files -f' : undefined;
    const offer = words ?? files;
    return offer === undefined ? [] : `    ${flagsOf([option]).join(' | ')}) ${offer} ;;\n`;
  });
  const cases = commands.map(({ path: names, options, children, arguments: args }) => {
    const words = `' ${names.map((name) => `${name} `).join('')}'`;
    const own = names.length === 0 ? options.filter(({ long }) => long === '--version') : options;
    const sets = [
      ...(children.length > 0 ? [`commands='${children.join(' ')}'`] : []),
      ...(args.some((one) => FILES.includes(one.name())) ? ['files=1'] : []),
      `options='${flagsOf(own).join(' ')}'`,
    ];
    return `    ${words}${children.length > 0 ? '' : '*'}) ${sets.join(' ')} ;;\n`;
  });
  const filled: Readonly<Record<string, string>> = {
    valued: flagsOf(options.filter(({ required }) => required)).join(' '),
    values: values.join('').trim(),
    cases: cases.join('').trim(),
  };
  return fs.readFileSync(SCRIPT, 'utf8').replace(/@(\w+)@/g, (_, name: string) => filled[name]!);
}

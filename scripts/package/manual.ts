import fs from 'node:fs';
import path from 'node:path';
import type { Command } from 'commander';
import { commandsOf } from './commands.ts';

const HEAD_AND_TAIL = path.join(import.meta.dirname, 'courtd.1');

/** @param program with all its verbs loaded. @returns the man page: `courtd.1`, and in its COMMANDS what each `--help` says. */
export function manualOf(program: Command): string {
  const sections = commandsOf(program).map(({ command, path: names, children, options }) => {
    const help = command.createHelp();
    const terms = [
      ...help.visibleArguments(command).map((one) => [help.argumentTerm(one), help.argumentDescription(one)]),
      ...options.map((one) => [help.optionTerm(one), help.optionDescription(one)]),
    ];
    if (names.length === 0 || (children.length > 0 && terms.length === 0)) return '';
    return [
      `.SS "${roff(help.commandUsage(command))}"\n${roff(help.commandDescription(command))}\n`,
      ...terms.map(([term, text]) => `.TP\n.B "${roff(term!)}"\n${roff(text!)}\n`),
      `.P\n.nf\n${roff(textBelow(command))}\n.fi\n`,
    ].join('');
  });
  return fs
    .readFileSync(HEAD_AND_TAIL, 'utf8')
    .replace('.SH COMMANDS\n', () => `.SH COMMANDS\n${sections.join('')}`);
}

/** @returns what the help of a command has behind its lists, such as examples. */
function textBelow(command: Command): string {
  let help = '';
  command.configureOutput({ writeOut: (text) => (help += text) });
  command.outputHelp();
  return help.slice(command.helpInformation().length).trim();
}

function roff(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll('"', '\\(dq')
    .replace(/^(?=[.'])/gm, '\\&');
}

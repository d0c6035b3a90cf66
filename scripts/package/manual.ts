import type { Command, Option } from 'commander';
import { TIMES_HELP } from '../../src/cli/options/times.ts';
import { type CommandEntry, commandsOf, defaultOf, globalOptions, usageOf } from './commands.ts';

/** The man page courtd(1), in man(7): every command, option and variable is the commander program's own. */

export interface Edition {
  readonly version: string;
  /** Seconds since the epoch. */
  readonly time: number;
}

export function manualOf(program: Command, { version, time }: Edition): string {
  const commands = commandsOf(program);
  const [top, ...below] = commands;
  const date = new Date(time * 1000).toISOString().slice(0, 10);
  return `${[
    `.TH COURTD 1 ${date} "courtd ${text(version)}" "courtd"`,
    '.SH NAME',
    'courtd \\- the box in a sports venue that court cameras send their events to',
    '.SH SYNOPSIS',
    '.B courtd',
    `.RI [ options ] " command " [ arguments ]`,
    '.SH DESCRIPTION',
    text(top!.description),
    ...DESCRIPTION,
    '.SH OPTIONS',
    'Every command takes these, before or after its name.',
    ...globalOptions(commands).flatMap(optionLines),
    ...entry('\\-h, \\-\\-help', 'Show what the program or a command does and takes.'),
    ...entry('\\-V, \\-\\-version', 'Show the version.'),
    '.SH COMMANDS',
    ...below.filter(({ children }) => children.length === 0).flatMap(commandLines),
    '.SH TIMES',
    text(TIMES_HELP),
    '.SH ENVIRONMENT',
    'An option takes precedence over its variable; an empty variable counts as unset.',
    ...commands.flatMap(({ options }) => options.filter((option) => option.envVar)).flatMap(variableLines),
    '.SH "EXIT STATUS"',
    ...entry('0', 'It is done.'),
    ...entry('1', 'It failed; what happened, and what to do, is on standard error.'),
    ...entry('2', 'It was used wrongly.'),
    ...CLOSING,
  ].join('\n')}\n`;
}

function commandLines({ path, description, arguments: args, options }: CommandEntry): string[] {
  const usage = [...path, ...args.map(usageOf), ...(options.length > 0 ? ['[options]'] : [])].join(' ');
  return [
    `.SS "courtd ${text(usage)}"`,
    sentence(description),
    ...args
      .filter((argument) => argument.description)
      .flatMap((argument) => entry(text(usageOf(argument)), sentence(argument.description))),
    ...options.flatMap(optionLines),
  ];
}

function optionLines(option: Option): string[] {
  const preset = defaultOf(option);
  const notes = [
    ...(option.argChoices ? [`One of ${option.argChoices.join(', ')}.`] : []),
    ...(preset === undefined ? [] : [`The default is ${preset}.`]),
    ...(option.envVar ? [`Also ${option.envVar}.`] : []),
  ];
  return entry(text(option.flags), [sentence(option.description), ...notes.map(text)].join('\n'));
}

function variableLines(option: Option): string[] {
  return entry(text(option.envVar!), `As ${text(option.long!)}: ${sentence(option.description, false)}`);
}

/** A term in bold, and what it means. */
function entry(term: string, meaning: string): string[] {
  return ['.TP', `\\fB${term}\\fR`, meaning];
}

function sentence(words: string, isCapital = true): string {
  const first = isCapital ? words.slice(0, 1).toUpperCase() : words.slice(0, 1);
  return text(`${first}${words.slice(1)}${words.endsWith('.') ? '' : '.'}`);
}

/** Escapes plain text for roff: a hyphen stays one that can be typed, and no line is taken for a request. */
function text(plain: string): string {
  const escaped = plain.replaceAll('\\', '\\e').replaceAll('-', '\\-').replaceAll('"', '\\(dq');
  return escaped.replace(/^[.']/gm, '\\&$&');
}

const DESCRIPTION = [
  '.PP',
  'Cameras send events with POST to port 4000, one or up to 500 at a time, with the bearer token of the venue.',
  'Each new event is stored once and resends are ignored; the answer 202 leaves when the events are on the disk.',
  '.PP',
  'The commands work whether the daemon runs or not.',
  'They take root or a member of the group that owns the data directory: once the package is installed,',
  'the group courtd (\\fBsudo usermod \\-aG courtd\\fR \\fIname\\fR, then log in again).',
  'Data goes to standard output, words to standard error.',
];

const CLOSING = [
  '.SH FILES',
  ...entry(
    '/var/lib/courtd',
    'The data directory of the service: courtd.db with its log courtd.db\\-wal beside it.',
  ),
  ...entry(
    '/etc/courtd/courtd.env',
    [
      'The settings of the service, one variable a line.',
      'After a change: \\fBsystemctl restart courtd\\fR.',
    ].join('\n'),
  ),
  ...entry(
    'courtd.socket, courtd.service',
    "The units. The port is the socket's: \\fBsystemctl edit courtd.socket\\fR.",
  ),
  ...entry(
    'courtd\\-backup.timer, courtd\\-prune.timer',
    'The nightly backup and retention; each is off until /etc/courtd/courtd.env says where to, or how long.',
  ),
  '.SH EXAMPLES',
  ...entry(
    'sudo courtd token rotate',
    'Make the token that the cameras send; the older ones go on for a day.',
  ),
  ...entry('courtd session list', 'Show what is stored of each session.'),
  ...entry('courtd export match\\-17 \\-o match\\-17.csv', 'Write a session to a CSV file.'),
  ...entry('journalctl \\-u courtd', 'Read the log of the daemon.'),
  '.SH "SEE ALSO"',
  '/usr/share/doc/courtd/README.md,',
  '.BR systemctl (1),',
  '.BR journalctl (1)',
];

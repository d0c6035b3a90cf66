import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import { BIN, type Cleanup, type CommandResult, cleanEnvironment, Daemon, run } from './daemon.ts';
import { event } from './events.ts';
import { commandInProcess } from './inProcess.ts';
import { ageEvents } from './scratchStore.ts';

/**
 * Runs the commands of a transcript in a box of its own, and writes down what they print.
 *
 * A line `$ COMMAND` is a command; `# TEXT` begins a block and names what it shows; all other lines are output: `  ` before standard
 * output, `! ` before standard error, `= ` before an exit status other than 0. Commands are those of the shell, and:
 *
 *     $ serve [OPTIONS]              starts the daemon        $ stop | $ kill                ends it
 *     $ post [-t TOKEN] JSON         posts events, whose other fields have a value; 'TEXT' and base64:… as they are
 *     $ sql STATEMENTS               changes the database     $ age DAYS [WHERE]             moves receipts back
 *
 * `/box` is the folder of the box, `/box/data` its data directory, `/box/etc` that of its settings, `/box/bin` the first of its PATH.
 * What differs from run to run is shown as TIME, ID, SIZE and so on.
 */

const FOLDER = '/box';
const EOT = '2020-03-14T15:09:26.535Z';

/** Events of transcripts happened in 2020: times of this year and later are those of the run. */
const MASKS: readonly (readonly [RegExp, string])[] = [
  [/\b20(?:2[6-9]|[3-9]\d)-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?/g, 'TIME'],
  [/\b20(?:2[6-9]|[3-9]\d)\d{4}T\d{6}Z/g, 'TIME'],
  [/\b20(?:2[6-9]|[3-9]\d)-\d\d-\d\d\b/g, 'DATE'],
  [/\b\d\d:\d\d:\d\d on \S+/g, 'CLOCK on HOST'],
  [/^[\w-]{43}$/gm, 'TOKEN'],
  [/\b[\da-f]{8}-[\da-f]{4}\b/g, 'ID'],
  [/\berased-[a-z0-9]{8}\b/g, 'erased-ID'],
  [/\b127\.0\.0\.1:\d+/g, '127.0.0.1:PORT'],
  [/^\d+\.\d+\.\d+$/gm, 'VERSION'],
  [/\bcourtd \d+\.\d+\.\d+/g, 'courtd VERSION'],
  [/"version": ?"[^"]*"/g, '"version": "VERSION"'],
  [/"(\w*bytes|\w+_s|seconds)": ?-?[\d.]+/g, '"$1": N'],
  [/\bversion \d+\.\d+\.\d+/g, 'version VERSION'],
  [/( ?) *\b[\d.]+ (?:[KMGT]i)?B\b/g, '$1SIZE'],
  [/( ?) *-?\b[\d.]+ ?(ms|s)\b/g, '$1N $2'],
];

/** What is before the command, settings, arguments, a file for its input or its output, and what takes its output. */
const ONE_COMMAND =
  /^(?:(.*) (&&|\|) )?((?:\w+=\S* )*)courtd ?([^|<>]*?)(?: <(\S+))?(?: >(?!\/dev)(\S+))?(?: \| (.*))?$/;

/** A line of a transcript that is no output, with what follows it. */
export interface Block {
  readonly title: string;
  readonly text: string;
}

/** @returns the blocks of a transcript, as they are in the file. */
export function blocksOf(transcript: string): Block[] {
  const texts = transcript.split(/^(?=# )/m);
  return texts.map((text) => ({ title: /^# (.*)$/m.exec(text)?.[1] ?? 'before the first title', text }));
}

export class Transcript {
  readonly #t: Cleanup;
  readonly #folder: string;
  #token = '';
  #daemon: Daemon | undefined;

  /** @param folder an empty one. */
  constructor(t: Cleanup, folder: string) {
    this.#t = t;
    this.#folder = folder;
  }

  /** Runs the commands of a block. @returns the block with what they printed now. */
  async replay({ text }: Block): Promise<string> {
    const kept = text.split('\n').filter((line) => /^(?:\$ |# |$)/.test(line));
    const lines: string[] = [];
    for (const line of kept) {
      lines.push(line);
      if (line.startsWith('$ '))
        lines.push(...shown(await this.#run(this.#inside(line.slice(2))), this.#folder));
    }
    return lines.join('\n');
  }

  #inside(text: string): string {
    return text.replaceAll(FOLDER, this.#folder);
  }

  async #run(line: string): Promise<CommandResult> {
    const [, verb = '', rest = ''] = /^(\w+) ?(.*)$/.exec(line) ?? [];
    switch (verb) {
      case 'serve':
        return this.#serve(rest.split(' ').filter(Boolean));
      case 'stop':
      case 'kill':
        await this.#daemon?.stop(verb === 'stop' ? 'SIGTERM' : 'SIGKILL');
        return printed('');
      case 'post':
        return this.#post(rest);
      case 'sql':
        return this.#change((db) => db.exec(rest));
      case 'age':
        return this.#age(rest);
      default:
        return ONE_COMMAND.test(line) ? this.#courtd(line) : this.#shell(line);
    }
  }

  #environment(): Record<string, string> {
    return {
      COURTD_DATA: path.join(this.#folder, 'data'),
      CONFIGURATION_DIRECTORY: path.join(this.#folder, 'etc'),
      PATH: `${path.join(this.#folder, 'bin')}:${path.dirname(BIN)}:${process.env.PATH}`,
      COURTD_HOST: '127.0.0.1',
      TZ: 'UTC',
    };
  }

  /**
   * In this process, which takes a tenth of the time, where a line is one command of courtd: behind `|` or `&&`, with files in the
   * place of its input and output, and before a `|`. The exit status is that of courtd.
   */
  async #courtd(line: string): Promise<CommandResult> {
    const [, before = '', join, settings = '', rest = '', input, output, filter] = ONE_COMMAND.exec(line)!;
    const words = rest.match(/(?:'[^']*'|[^\s'])+/g) ?? [];
    const isPlain = words.every((word) => /^(?:'[^']*'|[^'|<>;&$`"\\*])*$/.test(word));
    if (!isPlain || /courtd /.test(before)) return this.#shell(line);
    const first = join === undefined ? printed('') : await this.#shell(before);
    if (first.status !== 0) return first;
    const given = settings
      .trim()
      .split(' ')
      .filter(Boolean)
      .map((setting) => setting.split('='));
    const result = await commandInProcess(
      words.map((word) => word.replaceAll("'", '')),
      { ...this.#environment(), ...Object.fromEntries(given) },
      input === undefined ? (join === '|' ? first.stdout : '') : fs.readFileSync(input),
    );
    if (output !== undefined) fs.writeFileSync(output, result.stdout);
    const printedNow = output === undefined ? result.stdout : '';
    const shell = ['-c', `${filter} || true`];
    const filtered =
      filter === undefined
        ? printedNow
        : execFileSync('/bin/sh', shell, { input: printedNow, encoding: 'utf8' });
    return { ...result, stdout: (join === '&&' ? first.stdout : '') + filtered };
  }

  #shell(line: string): Promise<CommandResult> {
    return run('/bin/sh', ['-c', line], { cwd: this.#folder, env: cleanEnvironment(this.#environment()) });
  }

  async #serve(options: readonly string[]): Promise<CommandResult> {
    const data = path.join(this.#folder, 'data');
    this.#daemon =
      this.#token === '' || !fs.existsSync(path.join(data, 'courtd.db'))
        ? await Daemon.start(this.#t, options, data)
        : await Daemon.run(this.#t, data, this.#token, options);
    this.#token = this.#daemon.token;
    return printed('');
  }

  async #post(rest: string): Promise<CommandResult> {
    const [, token, body = ''] = /^(?:-t (\S+) )?(.*)$/.exec(rest) ?? [];
    const headers: Record<string, string> = token === undefined ? {} : { Authorization: `Bearer ${token}` };
    const answer = await this.#daemon!.post(bodyOf(body), headers);
    const text = await answer.text();
    const { code, error } = JSON.parse(text);
    return printed(`${answer.status} ${answer.status < 400 ? text : `${code}: ${error}`}\n`);
  }

  /** @param rest the days, and a condition in SQL. */
  #age(rest: string): CommandResult {
    const [, days, where = 'true'] = /^(\d+) ?(.+)?$/.exec(rest)!;
    ageEvents(path.join(this.#folder, 'data'), Number(days), where);
    return printed('');
  }

  #change(work: (db: Database.Database) => void): CommandResult {
    const db = new Database(path.join(this.#folder, 'data/courtd.db'), { timeout: 5_000 });
    work(db);
    db.close();
    return printed('');
  }
}

/** @returns what is posted: valid events of which some fields are given, or a text in quotes. */
function bodyOf(text: string): unknown {
  if (text.startsWith("'")) return text.slice(1, -1);
  if (text.startsWith('base64:')) return Buffer.from(text.slice(7), 'base64');
  const given: unknown = JSON.parse(text);
  const whole = (fields: object) => event({ event_id: 'e', eot: EOT, ...fields });
  return Array.isArray(given) ? given.map(whole) : whole(given as object);
}

function printed(stdout: string): CommandResult {
  return { status: 0, stdout, stderr: '' };
}

function shown({ status, stdout, stderr }: CommandResult, folder: string): string[] {
  const lines = (text: string, mark: string) => {
    let masked = text.replaceAll(folder, FOLDER).replaceAll('\r', '^M');
    for (const [is, name] of MASKS) masked = masked.replace(is, name);
    const all = masked === '' ? [] : masked.replace(/\n$/, '').split('\n');
    return all.map((line) => `${mark} ${line}`.trimEnd()).map((line) => (line === '' ? mark : line));
  };
  return [...lines(stdout, ' '), ...lines(stderr, '!'), ...(status === 0 ? [] : [`= ${status}`])];
}

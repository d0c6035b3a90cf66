import { AsyncLocalStorage } from 'node:async_hooks';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { makeProgram, runProgram } from '../../src/cli/program.ts';
import { type CommandResult, cleanEnvironment, runCommandsWith } from './daemon.ts';
import { endOfLife, setEnvironment } from './processLife.ts';

/**
 * Runs commands in the process of the test. A process of its own takes a tenth of a second of processor time, a command in this
 * one a few milliseconds. For files whose subject is what a command does, and not the process that does it.
 */

/** What runs until a signal comes is always in a process of its own. */
const UNTIL_SIGNAL = ['serve', '--follow'];

/** From now on `courtd()`, and `command()` of a daemon, run commands in this process if that is possible. */
export function runInProcess(): void {
  runCommandsWith((args, env) =>
    args.some((arg) => UNTIL_SIGNAL.includes(arg)) ? undefined : commandInProcess(args, env),
  );
}

let last: Promise<unknown> = Promise.resolve();

/**
 * Runs a command in this process. One at a time: they share the environment, the exit status, and SQLite's locks, which belong
 * to a process.
 * @param input what it has on standard input: nothing, if none is given.
 */
export function commandInProcess(
  args: readonly string[],
  env: Record<string, string> = {},
  input: string | Buffer = '',
): Promise<CommandResult> {
  const result = last.then(() => runOne(args, env, input));
  last = result.catch(() => {});
  return result;
}

interface Streams {
  readonly stdin: PassThrough;
  readonly stdout: Captured;
  readonly stderr: Captured;
}

/** A command reads and writes its own streams; the output of tap does not reach them. */
const streamsOf = new AsyncLocalStorage<Streams>();
for (const name of ['stdin', 'stdout', 'stderr'] as const) {
  const own = Object.getOwnPropertyDescriptor(process, name)!;
  Object.defineProperty(process, name, {
    configurable: true,
    get: () => streamsOf.getStore()?.[name] ?? own.get?.call(process),
  });
}

let output: [stdout: number, stderr: number] | undefined;

async function runOne(
  args: readonly string[],
  env: Record<string, string>,
  input: string | Buffer,
): Promise<CommandResult> {
  // To make a file, and remove it, takes as long as a small command.
  output ??= [namelessFile(), namelessFile()];
  const stdin = new PassThrough();
  stdin.end(input);
  const streams = { stdin, stdout: new Captured(output[0]), stderr: new Captured(output[1]) };
  const [status, environment, user] = [process.exitCode, { ...process.env }, process.geteuid?.()];
  const [{ setPriority }, { exit }] = [os, process];
  const forget = endOfLife();
  os.setPriority = () => {};
  process.exit = ((code = process.exitCode) => {
    process.exitCode = code;
  }) as typeof exit;
  process.exitCode = undefined;
  setEnvironment(cleanEnvironment(env));
  try {
    await streamsOf.run(streams, () => runProgram(makeProgram(), args));
    // What ends the process ends it when all is written.
    await new Promise(setImmediate);
    if (process.geteuid?.() !== user)
      throw new Error(`"courtd ${args.join(' ')}" has changed the user of the tests`);
    return {
      status: Number(process.exitCode ?? 0),
      stdout: streams.stdout.text(),
      stderr: streams.stderr.text(),
    };
  } finally {
    os.setPriority = setPriority;
    process.exit = exit;
    process.exitCode = status;
    forget();
    setEnvironment(environment);
  }
}

/** Takes what is written, at once, into a file: a command may also write to the descriptor. */
class Captured extends Writable {
  readonly fd: number;

  constructor(fd: number) {
    super({ decodeStrings: true });
    this.fd = fd;
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    for (let at = 0; at < chunk.length; ) at += fs.writeSync(this.fd, chunk, at);
    done();
  }

  /** @returns all that was written; the file is empty then, for the next command. */
  text(): string {
    const bytes = Buffer.alloc(fs.fstatSync(this.fd).size);
    fs.readSync(this.fd, bytes, 0, bytes.length, 0);
    fs.ftruncateSync(this.fd);
    return bytes.toString();
  }
}

/** @returns an empty file without a name. Each write appends to it. */
function namelessFile(): number {
  const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'courtd-test-')), 'output');
  const fd = fs.openSync(file, 'a+');
  fs.rmSync(path.dirname(file), { recursive: true });
  return fd;
}

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import path from 'node:path';
import readline from 'node:readline';
import { promisify } from 'node:util';

const BIN = path.resolve(import.meta.dirname, '../../bin/courtd');

export interface Answer {
  readonly status: number;
  readonly accepted: number;
  readonly duplicates: number;
}

/** Runs a command to its end. @returns what it writes. @throws where its exit status is not 0. */
export async function run(...args: string[]): Promise<string> {
  const running = promisify(execFile)(BIN, args);
  neverOutliveUs(running.child);
  return (await running).stdout.trim();
}

/** Runs `courtd token rotate`. @returns the token that it shows. */
export function rotateToken(data: string): Promise<string> {
  return run('token', 'rotate', '--data', data);
}

/** It ends before its disk is taken away. */
function neverOutliveUs(child: ChildProcess): void {
  const kill = () => child.kill('SIGKILL');
  process.prependOnceListener('exit', kill);
  child.once('close', () => process.off('exit', kill));
}

/** `courtd serve` in a process of its own. */
export class Daemon {
  readonly #port: number;
  readonly #child: ChildProcess;
  readonly #agent = new http.Agent({ keepAlive: true });

  private constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.#port = port;
  }

  /** @returns once it listens. @throws where it ends instead, with what it said. */
  static async start(data: string): Promise<Daemon> {
    const where = [
      '--data',
      data,
      '--host',
      '127.0.0.1',
      '--port',
      '0',
      '--rate-limit',
      '0',
      '--min-free',
      '0',
    ];
    const child = spawn(BIN, ['serve', ...where], { stdio: ['ignore', 'pipe', 'pipe'] });
    neverOutliveUs(child);
    let said = '';
    child.stderr.on('data', (chunk) => {
      said += chunk;
    });
    const port = await new Promise<number>((resolve, reject) => {
      readline.createInterface(child.stdout).on('line', (line) => {
        const { msg, port, level } = JSON.parse(line);
        if (msg === 'listening') resolve(port);
        if (level === 'fatal' || level === 'error') said += `${line}\n`;
      });
      child.once('close', (status) => reject(new Error(`courtd serve ended with ${status}: ${said}`)));
    });
    return new Daemon(child, port);
  }

  /**
   * Posts events.
   * @param onAnswer called the moment that an answer's head has arrived.
   * @throws where the connection breaks first.
   */
  post(token: string, body: string, onAnswer: (status: number) => void = () => {}): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const request = http.request({
        port: this.#port,
        host: '127.0.0.1',
        path: '/v1/events',
        method: 'POST',
        agent: this.#agent,
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      });
      request.once('error', reject);
      request.once('response', (response) => {
        const status = response.statusCode ?? 0;
        onAnswer(status);
        let text = '';
        response.setEncoding('utf8').on('data', (chunk) => {
          text += chunk;
        });
        response.once('error', reject);
        response.once('end', () => {
          const { accepted = 0, duplicates = 0 } = JSON.parse(text);
          resolve({ status, accepted, duplicates });
        });
      });
      request.end(body);
    });
  }

  /** @returns once it has ended. */
  async stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const ended = once(this.#child, 'close');
    this.#child.kill(signal);
    await ended;
    this.#agent.destroy();
  }
}

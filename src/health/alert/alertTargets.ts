import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { UsageError } from '../../base/operatorError.ts';
import type { AlertMessage } from './alertMessage.ts';

/** Whom `courtd alert` tells: COURTD_ALERT_URL, COURTD_ALERT_COMMAND, COURTD_PING_URL. */
export interface AlertSettings {
  readonly url?: string | undefined;
  readonly command?: string | undefined;
  readonly ping?: string | undefined;
}

/** Takes messages. */
export interface AlertTarget {
  readonly name: 'url' | 'command';
  /** @returns why it did not take the message; undefined where it did. */
  send(message: AlertMessage): Promise<string | undefined>;
}

const HTTP_MS = 15_000;
const COMMAND_MS = 60_000;

/** @throws {UsageError} where an address is none. */
export function targetsOf({ url, command, ping }: AlertSettings): AlertTarget[] {
  for (const address of [url, ping]) if (address !== undefined) checkAddress(address);
  const targets: AlertTarget[] = [];
  if (url !== undefined) targets.push({ name: 'url', send: (message) => post(url, message) });
  if (command !== undefined) targets.push({ name: 'command', send: (message) => run(command, message) });
  return targets;
}

function checkAddress(address: string): void {
  if (URL.canParse(address) && /^https?:$/.test(new URL(address).protocol)) return;
  throw new UsageError(
    'COURTD_ALERT_URL and COURTD_PING_URL are addresses that begin with http:// or https://.',
  );
}

function post(url: string, message: AlertMessage): Promise<string | undefined> {
  const headers = { 'Content-Type': 'application/json' };
  return request(url, { method: 'POST', headers, body: JSON.stringify(message) });
}

/** @returns why nobody heard it, which names no address: it may hold a secret. */
export function ping(url: string): Promise<string | undefined> {
  return request(url, {});
}

async function request(url: string, options: RequestInit): Promise<string | undefined> {
  try {
    const response = await fetch(url, { ...options, signal: AbortSignal.timeout(HTTP_MS) });
    // What it answers is of no interest, however long it is.
    await response.body?.cancel();
    return response.ok ? undefined : `it answered ${response.status}`;
  } catch (error) {
    const { name, cause = error } = error as Error;
    if (name === 'TimeoutError') return `it did not answer within ${HTTP_MS / 1_000} s`;
    const { code } = cause as NodeJS.ErrnoException;
    return `it cannot be reached${code === undefined ? '' : ` (${code})`}`;
  }
}

/** The message is its standard input; of courtd's own settings, which hold secrets, it gets none. */
async function run(command: string, message: AlertMessage): Promise<string | undefined> {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('COURTD_')));
  const child = spawn('/bin/sh', ['-c', command], {
    env,
    stdio: ['pipe', 'ignore', 'inherit'],
    timeout: COMMAND_MS,
    killSignal: 'SIGKILL',
  });
  // One that ends without reading is judged by its exit status.
  child.stdin.on('error', () => {});
  child.stdin.end(JSON.stringify(message));
  try {
    const [status, signal] = await once(child, 'exit');
    if (status === 0) return undefined;
    return signal === null ? `it ended with exit status ${status}` : `it was ended by ${signal}`;
  } catch (error) {
    return `it cannot be started (${(error as NodeJS.ErrnoException).code})`;
  }
}

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

/**
 * @param commandMs for how long the command may take.
 * @throws {UsageError} where an address is none.
 */
export function targetsOf({ url, command, ping }: AlertSettings, commandMs = COMMAND_MS): AlertTarget[] {
  for (const address of [url, ping]) if (address !== undefined) checkAddress(address);
  const targets: AlertTarget[] = [];
  if (url !== undefined) targets.push({ name: 'url', send: (message) => post(url, message) });
  if (command !== undefined)
    targets.push({ name: 'command', send: (message) => run(command, message, commandMs) });
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
  // Followed, a POST may become a GET of some page: it answers 200, and nobody has been told.
  return request(url, { method: 'POST', headers, body: JSON.stringify(message), redirect: 'manual' });
}

/** @returns why nobody heard it, which names no address: it may hold a secret. */
export function ping(url: string): Promise<string | undefined> {
  return request(url, {});
}

async function request(address: string, options: RequestInit): Promise<string | undefined> {
  const url = new URL(address);
  const headers = new Headers(options.headers);
  try {
    // As curl does; fetch refuses such an address.
    const [user, password] = [url.username, url.password].map(decodeURIComponent);
    if (user !== '' || password !== '') {
      headers.set('Authorization', `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`);
      url.username = url.password = '';
    }
    const response = await fetch(url, { ...options, headers, signal: AbortSignal.timeout(HTTP_MS) });
    // What it answers is of no interest, however long it is.
    await response.body?.cancel();
    if (response.ok) return undefined;
    const isRedirect = response.status >= 300 && response.status < 400;
    return `it answered ${response.status}${isRedirect ? ', which leads elsewhere: set the address where that is' : ''}`;
  } catch (error) {
    const { name, cause = {} } = error as Error;
    if (name === 'TimeoutError') return `it did not answer within ${HTTP_MS / 1_000} s`;
    const { code, message: reason = code } = cause as Partial<NodeJS.ErrnoException>;
    return `it cannot be reached${reason === undefined ? '' : ` (${code ?? reason})`}`;
  }
}

/** The message is its standard input; of courtd's own settings, which hold secrets, it gets none. */
async function run(command: string, message: AlertMessage, mostMs: number): Promise<string | undefined> {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('COURTD_')));
  const child = spawn('/bin/sh', ['-c', command], {
    env,
    stdio: ['pipe', 'ignore', 'inherit'],
    // A process group of its own, so that what the shell has started ends with it.
    detached: true,
  });
  let isOverdue = false;
  const timer = setTimeout(() => {
    isOverdue = true;
    process.kill(-child.pid!, 'SIGKILL');
  }, mostMs);
  // One that ends without reading is judged by its exit status.
  child.stdin.on('error', () => {});
  child.stdin.end(JSON.stringify(message));
  try {
    const [status, signal] = await once(child, 'exit');
    if (isOverdue) return `it did not end within ${mostMs / 1_000} s`;
    if (status === 0) return undefined;
    return signal === null ? `it ended with exit status ${status}` : `it was ended by ${signal}`;
  } catch (error) {
    return `it cannot be started (${(error as NodeJS.ErrnoException).code})`;
  } finally {
    clearTimeout(timer);
  }
}

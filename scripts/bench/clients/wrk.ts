import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import path from 'node:path';
import { Child } from '../child.ts';
import { COURTS, EVENT_MS, LONG_SESSION_EVENTS, SESSION_EVENTS } from '../traffic.ts';
import { type Order, type Outcome, requestHead } from './client.ts';

/** wrk, where it is installed: it uses less CPU than our own client and so leaves more to the server. */

const SCRIPT = path.join(import.meta.dirname, 'wrk.lua');

export function hasWrk(): boolean {
  return spawnSync('wrk', ['-v']).error === undefined;
}

export async function runWrk({ target, oneSession = false, ...order }: Order): Promise<Outcome> {
  const [open, between, close] = target.wording.batch;
  const options = {
    ...order,
    ...{ open, between, close, event: target.wording.event, head: requestHead(target) },
    courts: oneSession ? 1 : COURTS,
    sessionEvents: oneSession ? LONG_SESSION_EVENTS : SESSION_EVENTS,
    ...{ eventMs: EVENT_MS, seed: randomInt(2 ** 47) },
  };
  const flags = ['-t1', `-c${order.connections}`, `-d${order.seconds}s`, '--timeout', '10s', '-s', SCRIPT];
  const url = `http://127.0.0.1:${target.port}${target.path}`;
  const named = Object.entries(options).map(([name, value]) => `${name}=${value}`);
  const output = await new Child('wrk', [...flags, url, '--', ...named]).output();
  return JSON.parse(output.slice(output.lastIndexOf('\n') + 1));
}

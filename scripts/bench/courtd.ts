import path from 'node:path';
import { Child } from './child.ts';
import type { Contender, Running, Target } from './contender.ts';
import { announcedPort } from './servers/announce.ts';
import { COURT_EVENTS } from './traffic.ts';

export const COURTD = path.join(import.meta.dirname, '../../bin/courtd');

/** courtd as shipped. All load comes from one address, so its rate limit is off. */
export const courtd: Contender = {
  name: 'courtd',
  title: 'courtd',
  built: 'as shipped, without the rate limit',
  checks:
    "all that the vendor's guide says; keeps every digit and unknown field, notices a resend with different content",
  start: (directory, under) => start(directory, () => serve(directory, under)),
};

/** @returns `courtd` with these arguments. */
export function command(...args: readonly string[]): Child {
  return new Child(COURTD, args);
}

/** @returns a new token of a data directory, which is created where there is none. */
export function newToken(directory: string): Promise<string> {
  return command('token', 'rotate', '--data', directory).output();
}

export function serve(directory: string, under?: readonly string[], more: readonly string[] = []): Child {
  const where = ['--data', directory, '--host', '127.0.0.1', '--port', '0'];
  return new Child(COURTD, ['serve', ...where, '--rate-limit', '0', ...more], under);
}

/** @returns where to send events to a server that speaks the protocol. */
export async function courtTarget(child: Child, token: string): Promise<Target> {
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  return {
    port: await child.firstLine(announcedPort),
    path: '/v1/events',
    headers,
    wording: COURT_EVENTS,
  };
}

async function start(directory: string, run: () => Child): Promise<Running> {
  const token = await newToken(directory);
  const child = run();
  return {
    child,
    target: await courtTarget(child, token),
    stored: () => stored(directory),
  };
}

async function stored(directory: string): Promise<number> {
  const list = await command('session', 'list', '--json', '--data', directory).output();
  let events = 0;
  for (const session of JSON.parse(list) as { events: number; duplicates: number }[]) {
    events += session.events;
    if (session.duplicates > 0) throw new Error('Fresh events were called duplicates.');
  }
  return events;
}

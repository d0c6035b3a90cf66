import type { Target } from '../contender.ts';

/** What one run sends. */
export interface Order {
  readonly target: Target;
  readonly connections: number;
  /** Events in each request. */
  readonly events: number;
  readonly seconds: number;
  /** Part of the sessions' names. */
  readonly run: string;
  /** Events that were sent in earlier runs with this name. */
  readonly before: number;
  /** All of it in one session of one court. */
  readonly oneSession?: boolean;
}

/** The outcome. Each connection sends its next request when it has the answer to the last one. */
export interface Outcome {
  /** Answered with 2xx. */
  readonly requests: number;
  readonly seconds: number;
  readonly p50Us: number;
  readonly p99Us: number;
  /** Anything but a 2xx with all its events accepted. */
  readonly failures: number;
}

/** @returns the head of a request, up to the value of its Content-Length. */
export function requestHead({ port, path, headers }: Target): string {
  const fields = Object.entries({ Host: `127.0.0.1:${port}`, ...headers });
  const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST ${path} HTTP/1.1\r\n${lines.join('')}Content-Length: `;
}

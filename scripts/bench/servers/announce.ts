import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Listens on a free port of this machine and prints it, as a line of JSON like the one of `courtd serve`. */
export function listenAndAnnounce(server: Server): void {
  server.listen(0, '127.0.0.1', () => announce((server.address() as AddressInfo).port));
}

export function announce(port: number): void {
  process.stdout.write(`${JSON.stringify({ port })}\n`);
}

/** @returns the port that this line of output announces, or undefined. */
export function announcedPort(line: string): number | undefined {
  return line.startsWith('{') ? JSON.parse(line).port : undefined;
}

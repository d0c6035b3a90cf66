import { makeStreams } from '../../fleet/headquarters/init.ts';
import { parseServers } from '../../fleet/nats/address.ts';
import { printText, say } from '../terminal/output.ts';
import { type FleetOptions, withHeadquarters } from './headquarters.ts';

export async function init(url: string, options: FleetOptions): Promise<void> {
  const { servers } = parseServers(url);
  const made = await withHeadquarters(url, options, (nc) =>
    makeStreams(nc, servers.length, (sentence) => say(`courtd: ${sentence}`)),
  );
  for (const { name, outcome, replicas } of made) {
    const copies = replicas === 1 ? '1 copy' : `${replicas} copies`;
    printText(`${name}: ${outcome}, ${copies}\n`);
  }
}

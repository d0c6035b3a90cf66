import { PORT } from '../base/limits.ts';
import { showUnit } from './systemdUnits.ts';
import type { Service } from './unitSettings.ts';

/** Where cameras are served. */
export interface Listening {
  /** As courtd was told, such as `0.0.0.0`. */
  readonly host: string;
  readonly port: number;
  readonly isTls: boolean;
}

/** What a daemon says of itself. */
export interface DaemonListening {
  /** Address and port. */
  readonly listening: string;
  readonly tls: boolean;
}

/** The daemon knows best; if it does not answer, systemd and the settings say where it would listen. */
export async function listening(
  { unit, settings }: Pick<Service, 'unit' | 'settings'>,
  daemon: DaemonListening | undefined,
): Promise<Listening> {
  const told = /^(.*):(\d+)$/.exec(daemon?.listening ?? '');
  if (daemon !== undefined && told !== null) {
    return { host: bare(told[1]!), port: Number(told[2]), isTls: daemon.tls };
  }
  const isTls = settings.COURTD_TLS_CERT !== undefined;
  const socket = await unitSocket(unit);
  if (socket !== undefined) return { ...socket, isTls };
  const port = Number(settings.COURTD_PORT ?? PORT);
  const isUsable = Number.isInteger(port) && port >= 0 && port < 65_536;
  return { host: bare(settings.COURTD_HOST ?? '0.0.0.0'), port: isUsable ? port : PORT, isTls };
}

/** Where courtd.socket listens, if the daemon is that of a unit. */
async function unitSocket(unit: Service['unit']): Promise<Pick<Listening, 'host' | 'port'> | undefined> {
  const socket = unit && (await showUnit('courtd.socket', ['Listen']));
  const match = /^(.*):(\d+) \(Stream\)$/m.exec(socket?.Listen ?? '');
  return match === null ? undefined : { host: bare(match[1]!), port: Number(match[2]) };
}

/** Without the brackets of an IPv6 address. */
function bare(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1');
}

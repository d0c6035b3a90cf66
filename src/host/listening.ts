import { PORT } from '../base/limits.ts';
import { showUnits } from './systemdUnits.ts';
import type { Service } from './unitSettings.ts';

/** Where cameras are served. */
export interface Listening {
  /** As courtd was told, such as `0.0.0.0`. */
  readonly host: string;
  readonly port: number;
  readonly isTls: boolean;
  /** The daemon, systemd or a setting says so; else it is courtd's default, and a flag may have moved it. */
  readonly isKnown: boolean;
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
    return { host: bare(told[1]!), port: Number(told[2]), isTls: daemon.tls, isKnown: true };
  }
  const isTls = settings.COURTD_TLS_CERT !== undefined;
  const socket = await unitSocket(unit);
  if (socket !== undefined) return { ...socket, isTls, isKnown: true };
  const { COURTD_HOST = '0.0.0.0', COURTD_PORT } = settings;
  const port = Number(COURTD_PORT ?? PORT);
  const isUsable = Number.isInteger(port) && port >= 0 && port < 65_536;
  return {
    host: bare(COURTD_HOST),
    port: isUsable ? port : PORT,
    isTls,
    isKnown: isUsable && port > 0 && COURTD_PORT !== undefined,
  };
}

/** Where courtd.socket listens, if the daemon is that of a unit. */
async function unitSocket(unit: Service['unit']): Promise<Pick<Listening, 'host' | 'port'> | undefined> {
  const socket = unit && (await showUnits(['courtd.socket'], ['Listen']))?.[0];
  const match = /^(.*):(\d+) \(Stream\)$/m.exec(socket?.Listen ?? '');
  return match === null ? undefined : { host: bare(match[1]!), port: Number(match[2]) };
}

/** Without the brackets of an IPv6 address. */
function bare(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1');
}

import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import type { DataDirectory } from '../base/dataDirectory.ts';
import { PORT } from '../base/limits.ts';
import { given, type Service, serviceOf } from './serviceSettings.ts';
import { fingerprintOf } from './tlsCertificate.ts';

/** The listener for cameras. */
interface Listening {
  /** As it is set, such as `0.0.0.0`. */
  readonly host: string;
  readonly port: number;
  readonly isTls: boolean;
}

/** What a daemon says of itself. */
export interface DaemonListening {
  /** Address and port. */
  readonly listening: string;
  readonly tls: boolean;
  readonly certificate: { readonly sha256: string } | null;
}

/** The addresses for cameras, as far as this box knows them. It does not know a proxy in front of it. */
export interface CameraAddresses {
  /** Such as `http://10.0.7.2:4000`: one for each address of the box, if it listens on all. Empty if it picks a port. */
  readonly urls: readonly string[];
  /** No other machine gets there. */
  readonly isLocal: boolean;
  readonly isTls: boolean;
  /** SHA-256 of the certificate, in lower-case hex; undefined without TLS, or if the certificate cannot be read. */
  readonly fingerprint: string | undefined;
}

/** From the daemon; if it does not answer, from its settings. Under systemd courtd.socket has the port. */
export function listening({ settingsFile, settings }: Service, daemon?: DaemonListening): Listening {
  const told = /^\[?(.*?)\]?:(\d+)$/.exec(daemon?.listening ?? '');
  if (daemon !== undefined && told !== null)
    return { host: told[1]!, port: Number(told[2]), isTls: daemon.tls };
  const isTls = settings.COURTD_TLS_CERT !== undefined;
  const port = Number(settings.COURTD_PORT ?? PORT);
  const isOwn = settingsFile === undefined && port >= 0 && port < 65_536;
  return { host: (isOwn && settings.COURTD_HOST) || '0.0.0.0', port: isOwn ? port : PORT, isTls };
}

/** @returns whether nothing but an address is listened on that no other machine reaches. */
export function isLoopback(host: string): boolean {
  return /^(127\.|::1$|localhost$)/.test(host);
}

/** @param daemon if there is none, the settings have the address. Never throws. */
export function cameraAddresses(data: DataDirectory, daemon: DaemonListening | undefined): CameraAddresses {
  const service = serviceOf(data);
  const settings = { ...service.settings, ...given() };
  const at = listening({ ...service, settings }, daemon);
  const file = at.isTls ? settings.COURTD_TLS_CERT : undefined;
  const fingerprint = daemon?.certificate?.sha256 ?? (file && fingerprintOfFile(file));
  return { ...urlsOf(at), isTls: at.isTls, fingerprint };
}

function urlsOf({ host, port, isTls }: Listening): Pick<CameraAddresses, 'urls' | 'isLocal'> {
  if (port === 0) return { urls: [], isLocal: false };
  const url = (name: string) => `http${isTls ? 's' : ''}://${net.isIPv6(name) ? `[${name}]` : name}:${port}`;
  const isAny = ['0.0.0.0', '::', '*'].includes(host);
  const own = isAny ? ownAddresses(host === '0.0.0.0') : [host];
  return { urls: (own.length === 0 ? ['127.0.0.1'] : own).map(url), isLocal: own.every(isLoopback) };
}

/** @returns the addresses that other machines may know this one by. */
function ownAddresses(isIpv4Only: boolean): string[] {
  const all = Object.values(os.networkInterfaces()).flatMap((addresses = []) => addresses);
  // A link-local address of IPv6 means nothing without the name of an interface.
  const known = all.filter(({ internal, family, address }) =>
    family === 'IPv4' ? !internal : !internal && !isIpv4Only && !/^fe[89ab]/i.test(address),
  );
  return known.map(({ address }) => address);
}

function fingerprintOfFile(file: string): string | undefined {
  try {
    return fingerprintOf(fs.readFileSync(file));
  } catch {
    return undefined;
  }
}

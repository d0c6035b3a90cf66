import net from 'node:net';
import os from 'node:os';
import type { DataDirectory } from '../base/dataDirectory.ts';
import { PORT } from '../base/limits.ts';
import { given, type Service, serviceOf } from './serviceSettings.ts';
import { fingerprintOf } from './tlsCertificate.ts';

/** What a listener on every address is set to, and an address at which this machine reaches it. */
const EVERYWHERE: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

/** The listener for cameras. */
interface Listening {
  /** As it is set, such as `0.0.0.0`. */
  readonly host: string;
  readonly port: number;
  readonly isTls: boolean;
}

/** A daemon's answer about itself. */
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
  const port = Number(settings.COURTD_PORT ?? PORT);
  const isOwn = settingsFile === undefined && port >= 0 && port < 65_536;
  const isTls = 'COURTD_TLS_CERT' in settings;
  return { host: (isOwn && settings.COURTD_HOST) || '0.0.0.0', port: isOwn ? port : PORT, isTls };
}

/** @returns whether nothing but an address is listened on that no other machine reaches. */
export function isLoopback(host: string): boolean {
  return /^(127\.|::1$|localhost$)/.test(host);
}

/** @returns an address at which this machine reaches the listener. */
export function nearestOf({ host }: Listening): string {
  return EVERYWHERE[host] ?? host;
}

/** @returns them as a URL has them. */
export function placeOf(host: string, port: number): string {
  return `${net.isIPv6(host) ? `[${host}]` : host}:${port}`;
}

/** @param daemon if there is none, the settings have the address. Never throws. */
export function cameraAddresses(data: DataDirectory, daemon: DaemonListening | undefined): CameraAddresses {
  const service = serviceOf(data);
  const settings = { ...service.settings, ...given() };
  const { host, port, isTls } = listening({ ...service, settings }, daemon);
  const file = isTls ? settings.COURTD_TLS_CERT : undefined;
  const fingerprint = daemon?.certificate?.sha256 ?? (file && fingerprintOf(file));
  const known = host in EVERYWHERE ? ownAddresses(host === '0.0.0.0') : [host];
  const hosts = known.length === 0 ? ['127.0.0.1'] : known;
  const urls = port === 0 ? [] : hosts.map((name) => `http${isTls ? 's' : ''}://${placeOf(name, port)}`);
  return { urls, isLocal: hosts.every(isLoopback), isTls, fingerprint };
}

/** @returns the addresses that other machines may know this one by. */
function ownAddresses(isIpv4Only: boolean): string[] {
  const all = Object.values(os.networkInterfaces()).flatMap((addresses = []) => addresses);
  // A link-local address of IPv6 means nothing without the name of an interface.
  const isKnown = (address: string) => net.isIPv4(address) || !(isIpv4Only || /^fe[89ab]/i.test(address));
  return all.filter(({ internal, address }) => !internal && isKnown(address)).map(({ address }) => address);
}

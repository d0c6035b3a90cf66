import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import type { DataDirectory } from '../base/dataDirectory.ts';
import { type DaemonListening, type Listening, listening } from './listening.ts';
import { fingerprintOf } from './tlsCertificate.ts';
import { given, serviceOf } from './unitSettings.ts';

/** Where cameras send to, as far as this box knows: a proxy or another name in front of it, it does not. */
export interface CameraAddresses {
  /** Such as `http://10.0.7.2:4000`: one for each address of the box, where it listens on all. Empty if it picks a port. */
  readonly urls: readonly string[];
  /** No other machine gets there. */
  readonly isLocal: boolean;
  readonly isTls: boolean;
  /** SHA-256 of the certificate, in lower-case hex; undefined without TLS, or if the certificate cannot be read. */
  readonly fingerprint: string | undefined;
}

/** What a daemon says of itself. */
type DaemonAddress = DaemonListening & { readonly certificate: { readonly sha256: string } | null };

/** @param daemon if there is none, the settings say where it will listen. Never throws. */
export async function cameraAddresses(
  data: DataDirectory,
  daemon: DaemonAddress | undefined,
): Promise<CameraAddresses> {
  const service = await serviceOf(data);
  const box = { unit: service.unit, settings: { ...service.settings, ...given() } };
  const at = await listening(box, daemon);
  const { isTls } = at;
  const file = isTls ? box.settings.COURTD_TLS_CERT : undefined;
  return {
    ...urlsOf(at),
    isTls,
    fingerprint: daemon?.certificate?.sha256 ?? (file && fingerprintOfFile(file)),
  };
}

function urlsOf({ host, port, isTls }: Listening): Pick<CameraAddresses, 'urls' | 'isLocal'> {
  if (port === 0) return { urls: [], isLocal: false };
  const url = (name: string) => `http${isTls ? 's' : ''}://${net.isIPv6(name) ? `[${name}]` : name}:${port}`;
  const isAny = ['0.0.0.0', '::', '*', ''].includes(host);
  const own = isAny ? ownAddresses(host === '0.0.0.0') : [host];
  const isLocal = own.length === 0 || own.every((name) => /^(127\.|::1$|localhost$)/.test(name));
  return { urls: (own.length === 0 ? ['127.0.0.1'] : own).map(url), isLocal };
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

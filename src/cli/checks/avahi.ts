import fs from 'node:fs';
import { PORT } from '../../base/limits.ts';
import { asCaller } from '../../base/processIdentity.ts';
import { showUnits } from '../../host/systemdUnits.ts';
import type { Box } from './box.ts';
import { type Check, type Finding, ok, together, warn } from './check.ts';

export const AVAHI_FILE = '/etc/avahi/services/courtd.service';

export const avahi: Check = { name: 'avahi', look: (box) => aboutAvahi(box, AVAHI_FILE) };

/** The file is `systemd/examples/courtd.avahi.service`, where somebody has put it. */
export async function aboutAvahi(
  { unit, settings }: Pick<Box, 'unit' | 'settings'>,
  file: string,
): Promise<Finding> {
  const text = readIfThere(file);
  if (text === undefined)
    return ok('The box is not announced by mDNS (no file of courtd below /etc/avahi/services).');
  const socket = unit && (await showUnits(['courtd.socket'], ['Listen']))?.[0];
  const listening = Number(
    /:(\d+) \(Stream\)/.exec(socket?.Listen ?? '')?.[1] ?? settings.COURTD_PORT ?? PORT,
  );
  const announced = Number(/<port>\s*(\d+)\s*<\/port>/.exec(text)?.[1]);
  const isTls = settings.COURTD_TLS_CERT !== undefined;
  const saysTls = /<txt-record>\s*tls=(?:1|yes|true)\s*<\/txt-record>/.test(text);
  const findings: Finding[] = [];
  if (!/<type>\s*_courtd\._tcp\s*<\/type>/.test(text)) {
    findings.push(warn(`${file} does not announce _courtd._tcp.`, 'Copy the example anew.'));
  }
  if (announced !== listening) {
    const says = Number.isNaN(announced) ? 'no port' : `port ${announced}`;
    findings.push(
      warn(
        `${file} announces ${says}, and courtd listens on ${listening}.`,
        `Write <port>${listening}</port> there.`,
      ),
    );
  }
  if (isTls !== saysTls) {
    const is = isTls ? 'speaks TLS' : 'speaks no TLS';
    findings.push(
      warn(
        `${file} announces tls=${saysTls ? 'yes' : 'no'}, and courtd ${is}.`,
        `Write tls=${isTls ? 'yes' : 'no'} there.`,
      ),
    );
  }
  return together(findings, ok(`The box is announced by mDNS as _courtd._tcp, port ${listening}.`));
}

/** @returns undefined where there is none. */
export function readIfThere(file: string): string | undefined {
  try {
    return asCaller(() => fs.readFileSync(file, 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

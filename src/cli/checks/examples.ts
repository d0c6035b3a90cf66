import fs from 'node:fs';
import { PORT } from '../../base/limits.ts';
import { asCaller } from '../../base/processIdentity.ts';
import { showUnits } from '../../host/systemdUnits.ts';
import { askTool } from '../../host/systemTool.ts';
import type { Box } from './box.ts';
import { type Check, type Finding, ok, together, warn } from './check.ts';

/** What the examples of the package may have been copied to (systemd/examples). */

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

export interface ChronyPlaces {
  readonly file: string;
  /** A directory that is there where the box has a clock that runs on a battery. */
  readonly battery: string;
}

export const CHRONY: ChronyPlaces = {
  file: '/etc/chrony/conf.d/courtd.conf',
  battery: '/sys/class/rtc/rtc0',
};

export const chrony: Check = { name: 'chrony', look: () => aboutChrony(CHRONY) };

/** The file is `systemd/examples/chrony-courtd.conf`, where somebody has put it. */
export async function aboutChrony({ file, battery }: ChronyPlaces): Promise<Finding> {
  const text = readIfThere(file);
  if (text === undefined) return ok('The box gives cameras no clock (no file of courtd below /etc/chrony).');
  const lines = text.split('\n').map((line) => line.trim());
  const gives = lines.some((line) => /^local\b/.test(line));
  const allows = lines.some((line) => /^allow\b/.test(line));
  const findings: Finding[] = [];
  if (gives && !fs.existsSync(battery)) {
    findings.push(
      warn(
        'The box gives cameras its own clock, and has none that runs on a battery: after a power cut all of them follow a wrong one.',
        `Take the line "local" out of ${file}, then "sudo systemctl restart chrony".`,
      ),
    );
  }
  if (!allows) {
    findings.push(
      warn(
        `${file} lets no camera ask.`,
        `Write "allow" with the venue's network there, such as "allow 10.0.7.0/24".`,
      ),
    );
  }
  const { stdout } = await askTool('systemctl', 'is-active', 'chrony.service');
  if (stdout.trim() !== 'active') {
    findings.push(
      warn(
        'chrony does not run, so cameras get no clock.',
        '"sudo apt install chrony", "sudo systemctl enable --now chrony".',
      ),
    );
  }
  return together(findings, ok('chrony gives cameras the clock of the box.'));
}

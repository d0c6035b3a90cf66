import fs from 'node:fs';
import { askTool } from '../../host/systemTool.ts';
import { readIfThere } from './avahi.ts';
import { type Check, type Finding, ok, together, warn } from './check.ts';

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

import fs from 'node:fs';
import path from 'node:path';
import { EARLIEST_RECEIVED_MS } from '../../base/limits.ts';
import { isoTime } from '../../base/units.ts';
import { askTool } from '../../host/systemTool.ts';
import { fail, ok, warn } from '../finding.ts';
import type { Box } from './box.ts';
import { type Check, type Fault, together } from './check.ts';

/** What has been received is older than this, unless the clock has gone back. */
const SLACK_MS = 60_000;

export const clock: Check = {
  name: 'clock',
  look: async (box) =>
    together(
      [aboutTime(), await aboutNewest(box), await aboutServer()],
      ok(`The clock follows a time server; it is ${isoTime(Date.now())}.`),
    ),
};

function aboutTime(): Fault {
  if (Date.now() >= EARLIEST_RECEIVED_MS) return undefined;
  return fail(
    `The clock is wrong: it says ${isoTime(Date.now())}.`,
    'Set it: "sudo timedatectl set-time ...".',
  );
}

async function aboutNewest(box: Box): Promise<Fault> {
  // That it cannot be read is the database's to tell.
  const look = await box.database().catch(() => undefined);
  const newestMs = look?.newestMs ?? 0;
  if (newestMs <= Date.now() + SLACK_MS) return undefined;
  return warn(
    `The newest event was received at ${isoTime(newestMs)}, by a clock that is ahead of what it says now.`,
    'Look which of the two is right: "date". Nothing is pruned for a day after the clock has jumped.',
  );
}

async function aboutServer(): Promise<Fault> {
  const { status, stdout } = await askTool('timedatectl', 'show', '--property=NTPSynchronized');
  if (status !== 0) {
    return warn(
      'Whether the clock follows a time server cannot be told here: there is no timedatectl that answers.',
      'Compare "date" with a clock that is right, and the cameras with the box.',
    );
  }
  if (/^NTPSynchronized=yes$/m.test(stdout)) return undefined;
  return warn(
    'The clock follows no time server, so it drifts, and cameras that follow another one are off against it.',
    `${timeServerAdvice()} Without internet, /usr/share/doc/courtd/examples/chrony-courtd.conf has cameras follow the box.`,
  );
}

/** By what is installed: a minimal Debian has nothing that sets the clock. @param root only for tests. */
export function timeServerAdvice(root = '/'): string {
  const has = (file: string) => fs.existsSync(path.join(root, file));
  if (has('usr/sbin/chronyd')) {
    return 'Name one of the venue: a line "server NAME iburst" in /etc/chrony/sources.d/venue.sources, then "sudo systemctl restart chrony"; "chronyc sources" shows whether it answers.';
  }
  if (has('usr/lib/systemd/systemd-timesyncd') || has('lib/systemd/systemd-timesyncd')) {
    return 'Name one of the venue: NTP= in /etc/systemd/timesyncd.conf, then "sudo timedatectl set-ntp true" and "sudo systemctl restart systemd-timesyncd".';
  }
  return 'Nothing that sets it is installed: "sudo apt install chrony" (or systemd-timesyncd), and name a time server of the venue if there is no internet.';
}

import { membersOf } from '../../base/json.ts';
import { counted } from '../../base/units.ts';
import { fail, ok, warn } from '../../health/finding.ts';
import { askTool } from '../../host/systemTool.ts';
import { type Check, type Fault, together } from './check.ts';

/** Older ones are history: a box may run for years without a boot. */
const SINCE = '-7d';
const LINES = 100;
const READ = 'Read it: "journalctl -u courtd -b".';

export const log: Check = {
  name: 'log',
  look: async ({ unit, noUnit }) => {
    if (unit === undefined) return ok(`${noUnit}: the log is where courtd's standard output goes.`);
    // courtd's own lines all have one priority in the journal, and say their level themselves.
    const own = await journal('--grep="level":"(error|fatal)"', '--case-sensitive=yes');
    const systemds = await journal('--priority=err');
    if (own === undefined || systemds === undefined) {
      return warn(
        'The journal cannot be read, or there is none.',
        'Use sudo, or look where the log of courtd goes.',
      );
    }
    const lines = own.map(membersOf);
    const fatal = lines.filter(({ level }) => level === 'fatal');
    const errors = lines.filter(({ level }) => level === 'error');
    const findings = [
      about('fatal', fatal, fail),
      about('error', errors, warn),
      ...(systemds.length === 0 ? [] : [warn(`systemd says of courtd "${systemds[0]}".`, READ)]),
    ];
    return together(findings, ok('No error is in the log since the last boot, nor of the last week.'));
  },
};

/** @returns its lines, the newest first; undefined where it cannot be read. */
async function journal(...filter: string[]): Promise<string[] | undefined> {
  const which = ['--unit=courtd.service', '--boot', `--since=${SINCE}`, ...filter];
  const how = ['--quiet', '--no-pager', '--reverse', `--lines=${LINES}`, '--output=cat'];
  const { status, stdout, stderr } = await askTool('journalctl', ...which, ...how);
  // With --grep nothing found is 1, too, and silent.
  if (status !== 0 && (status !== 1 || stderr !== '')) return undefined;
  return stdout.split('\n').filter((line) => line !== '' && line !== '-- No entries --');
}

function about(level: string, lines: readonly Record<string, unknown>[], finding: typeof fail): Fault {
  const newest = lines[0];
  if (newest === undefined) return undefined;
  const many =
    lines.length >= LINES ? `${LINES} or more ${level} lines` : counted(lines.length, `${level} line`);
  return finding(`${many} in the log of the last week, the newest at ${newest.time} "${newest.msg}".`, READ);
}

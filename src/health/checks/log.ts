import type { DataDirectory } from '../../base/dataDirectory.ts';
import { membersOf } from '../../base/json.ts';
import { counted } from '../../base/units.ts';
import { askTool } from '../../host/systemTool.ts';
import { type Finding, fail, ok, warn } from '../finding.ts';
import { type Check, type Fault, together } from './check.ts';

/** Older ones are history: a box may run for years without a boot. */
const SINCE = '-7d';
const LINES = 100;
const READ = 'Read it: "journalctl -u courtd -b". When that is solved: "sudo courtd check --acknowledge".';

/** A line of the journal. */
interface Line {
  /** When the journal took it, in microseconds: the name of a line, since a clock that is set back must hide none. */
  readonly at: string;
  readonly text: string;
}

export const log: Check = {
  name: 'log',
  look: async ({ unit, noUnit, data, isAcknowledged }) => {
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
    const known = acknowledged(data);
    const isNew = ({ at }: Line) => !known.has(at);
    const found = judge(own.filter(isNew), systemds.filter(isNew));
    if (!isAcknowledged || found.level === 'ok') return found;
    acknowledge(data, [...own, ...systemds]);
    // Something may have come since it was last shown.
    return ok(`From now on this is not told again: ${found.message}`);
  },
};

function judge(own: readonly Line[], systemds: readonly Line[]): Finding {
  const lines = own.map(({ text }) => membersOf(text));
  const fatal = lines.filter(({ level }) => level === 'fatal');
  const errors = lines.filter(({ level }) => level === 'error');
  const findings = [
    about('fatal', fatal, fail),
    about('error', errors, warn),
    ...(systemds.length === 0 ? [] : [warn(`systemd says of courtd "${systemds[0]!.text}".`, READ)]),
  ];
  return together(findings, ok('No new error is in the log since the last boot, nor of the last week.'));
}

/** Room for all lines that two questions give, at sixteen digits and a blank each. */
const NOTE_CHARS = 2 * LINES * 17;

/** @throws Node's error. */
function acknowledge(data: DataDirectory, lines: readonly Line[]): void {
  // Always of one length: it is written in place.
  data.overwrite(
    'logNote',
    lines
      .map(({ at }) => at)
      .join(' ')
      .padEnd(NOTE_CHARS),
  );
}

/** @returns the lines that were acknowledged, by their times. @throws Node's error. */
function acknowledged(data: DataDirectory): ReadonlySet<string> {
  try {
    return new Set(data.read('logNote').split(' '));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return new Set();
    throw error;
  }
}

/** @returns its lines, the newest first; undefined where it cannot be read. */
async function journal(...filter: string[]): Promise<Line[] | undefined> {
  const which = ['--unit=courtd.service', '--boot', `--since=${SINCE}`, ...filter];
  // Without --all, a long line is null.
  const how = ['--quiet', '--no-pager', '--reverse', `--lines=${LINES}`, '--output=json', '--all'];
  const { status, stdout, stderr } = await askTool('journalctl', ...which, ...how, '--output-fields=MESSAGE');
  // With --grep nothing found is 1, too, and silent.
  if (status !== 0 && (status !== 1 || stderr !== '')) return undefined;
  const lines = stdout.split('\n').filter((line) => line !== '');
  return lines
    .map(membersOf)
    .map((line) => ({ at: `${line.__REALTIME_TIMESTAMP}`, text: `${line.MESSAGE}` }));
}

function about(level: string, lines: readonly Record<string, unknown>[], finding: typeof fail): Fault {
  const newest = lines[0];
  if (newest === undefined) return undefined;
  const many =
    lines.length >= LINES ? `${LINES} or more ${level} lines` : counted(lines.length, `${level} line`);
  return finding(`${many} in the log of the last week, the newest at ${newest.time} "${newest.msg}".`, READ);
}

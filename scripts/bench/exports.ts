import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { say } from '../../src/cli/terminal/output.ts';
import { atLeast, atMost, type Verdict } from './bars.ts';
import { Child } from './child.ts';
import { command } from './courtd.ts';
import { median } from './measure.ts';
import type { Section } from './section.ts';

/** A million events to CSV: `courtd export` beside the `sqlite3` shell, which reads the same rows in the same order. */

const TURNS = 5;
const MIB = 1024 ** 2;

/** The columns of a CSV that are stored as they are. courtd also parses the payload and finds the current revisions. Both sort. */
const SHELL_QUERY = `
  SELECT s.name, e.event_id, e.revision, e.eot, o.type, o.court, o.venue, e.confidence, o.source, o.schema_version,
         strftime('%Y-%m-%dT%H:%M:%fZ', e.received_ms / 1000.0, 'unixepoch'), e.payload, e.extra
    FROM event e JOIN session s ON s.id = e.session JOIN origin o ON o.id = e.origin
   ORDER BY e.session, e.eot_ns, e.seq`;

export const exports: Section = {
  name: 'export',
  async run(ground) {
    const { directory, session } = await ground.million('export');
    const hasShell = spawnSync('sqlite3', ['-version']).error === undefined;
    if (!hasShell) say('The sqlite3 shell is left out: the package sqlite3 is not installed.');
    const shares: number[] = [];
    const peaks: number[] = [];
    for (let turn = 0; turn < TURNS; turn++) {
      const ours = await timed(async () => {
        const child = command('export', session, '--data', directory, '-o', '/dev/null');
        peaks.push(await child.peakOfItsLife());
      });
      if (hasShell) shares.push((await timed(() => shell(path.join(directory, 'courtd.db')))) / ours);
    }
    const verdicts: Verdict[] = [];
    if (hasShell)
      verdicts.push(
        atLeast("Export of a million events: speed against the sqlite3 shell's", median(shares), 0.4),
      );
    verdicts.push(atMost('Export of a million events: peak memory', Math.max(...peaks) / MIB, 150, 'MiB'));
    return verdicts;
  },
};

async function shell(file: string): Promise<void> {
  await new Child('sqlite3', ['-csv', '-header', '-cmd', '.output /dev/null', file, SHELL_QUERY]).output();
}

/** @returns milliseconds. */
async function timed(work: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

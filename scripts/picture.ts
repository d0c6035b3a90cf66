import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/**
 * `npm run picture`: scripts/picture/report.png, the picture in the README. A simulated match, the same each time, goes through the
 * real program: simulate, import, report, and a screenshot of the page in Debian's chromium.
 */

const ROOT = path.resolve(import.meta.dirname, '..');
const PICTURE = path.join(import.meta.dirname, 'picture/report.png');
const SIZE = { width: 1200, height: 1690 };
/** Half an hour of a court. */
const MATCH = ['--print', '12000', '--courts', '1', '--seed', '14', '--sport', 'pickleball'];
const BROWSER = '/usr/bin/chromium';
const QUIET = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--hide-scrollbars',
];

if (!fs.existsSync(BROWSER)) {
  console.error('The picture needs chromium: apt-get install --no-install-recommends chromium');
  process.exit(1);
}
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'courtd-picture-'));
try {
  const [events, page] = [path.join(folder, 'match.ndjson'), path.join(folder, 'report.html')];
  const courtd = (...args: string[]) =>
    execFileSync(path.join(ROOT, 'bin/courtd'), args, {
      stdio: 'pipe',
      encoding: 'utf8',
      maxBuffer: 2 ** 26,
      // Its times would be those of whoever makes it.
      env: { ...process.env, COURTD_DATA: path.join(folder, 'data'), TZ: 'UTC' },
    });
  fs.writeFileSync(events, courtd('simulate', ...MATCH));
  courtd('token', 'rotate');
  courtd('import', events);
  const [session] = JSON.parse(courtd('session', 'list', '--json')) as { session_id: string }[];
  courtd('report', session!.session_id, '--court-lines', 'pickleball', '-o', page);
  const size = `--window-size=${SIZE.width},${SIZE.height}`;
  const profile = `--user-data-dir=${path.join(folder, 'profile')}`;
  execFileSync(BROWSER, [...QUIET, profile, size, `--screenshot=${PICTURE}`, `file://${page}`], {
    stdio: 'pipe',
  });
  console.log(`${path.relative(ROOT, PICTURE)}: ${Math.round(fs.statSync(PICTURE).size / 1024)} KiB`);
} finally {
  fs.rmSync(folder, { recursive: true, force: true });
}

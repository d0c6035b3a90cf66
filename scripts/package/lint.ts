import { execFileSync } from 'node:child_process';
import fs from 'node:fs';

/** An installer copies it from a USB stick, and a venue fetches it over a telephone. */
const DEB_BYTES_MAX = 35e6;

/** @throws {Error} where lintian has something to say, or the package has grown too large. */
export function checkDeb(file: string): void {
  const { size } = fs.statSync(file);
  if (size > DEB_BYTES_MAX) throw new Error(`${file} has ${size} bytes, more than ${DEB_BYTES_MAX}.`);
  try {
    execFileSync(
      'lintian',
      ['--allow-root', '--fail-on', 'error,warning', '--tag-display-limit', '0', file],
      {
        stdio: 'pipe',
      },
    );
  } catch (error) {
    const { stdout, stderr } = error as { stdout: Buffer; stderr: Buffer };
    throw new Error(`lintian is not content with ${file}:\n${stdout}${stderr}`);
  }
}

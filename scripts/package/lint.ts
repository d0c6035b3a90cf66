import { execFileSync } from 'node:child_process';
import fs from 'node:fs';

/** The package must fit a small USB stick and a slow mobile connection. */
const DEB_BYTES_MAX = 35e6;

/** @throws {Error} if lintian reports a warning or an error, or the package is too large. */
export function checkDeb(file: string): void {
  const { size } = fs.statSync(file);
  if (size > DEB_BYTES_MAX)
    throw new Error(`${file} is ${size} bytes long, more than the limit of ${DEB_BYTES_MAX}.`);
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
    throw new Error(`lintian rejects ${file}:\n${stdout}${stderr}`);
  }
}

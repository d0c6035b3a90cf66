import fs from 'node:fs';
import path from 'node:path';
import { type Cleanup, type CommandResult, courtd, temporaryFolder } from './daemon.ts';

/** Programs of the system that answer what a test says, in front of the PATH, and the settings of the service. */
export class FakeSystemd {
  readonly folder: string;

  /** At first there is no systemd, and the clock follows a time server. */
  constructor(t: Cleanup) {
    this.folder = temporaryFolder(t);
    this.program('systemctl', 'exit 1');
    this.program('journalctl', 'echo "No journal files were found." >&2; exit 1');
    this.program('timedatectl', 'echo NTPSynchronized=yes');
  }

  /** @param script in sh. */
  program(name: string, script: string): void {
    fs.writeFileSync(path.join(this.folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  }

  /** The package is installed and runs, on a data directory; the journal has no line. */
  boot(data: string, settings: Readonly<Record<string, string>> = {}): void {
    this.program('systemctl', 'exit 0');
    this.program('journalctl', 'exit 0');
    this.settings({ COURTD_DATA: data, COURTD_MIN_FREE: '1KiB', ...settings });
  }

  settings(settings: Readonly<Record<string, string>>): void {
    const lines = Object.entries(settings).map(([name, value]) => `${name}="${value}"\n`);
    fs.writeFileSync(path.join(this.folder, 'courtd.env'), `# Settings.\n${lines.join('')}`);
  }

  environment(more: Record<string, string> = {}): Record<string, string> {
    return { PATH: `${this.folder}:${process.env.PATH}`, CONFIGURATION_DIRECTORY: this.folder, ...more };
  }

  courtd(args: readonly string[], env: Record<string, string> = {}): Promise<CommandResult> {
    return courtd(args, this.environment(env));
  }
}

import fs from 'node:fs';
import path from 'node:path';
import { type Cleanup, type CommandResult, courtd, temporaryFolder } from './daemon.ts';

/** Programs of the system that answer what a test says, in front of the PATH. */

export type Properties = Readonly<Record<string, string>>;

/** Prints what is kept of each unit that it is asked for. */
const SYSTEMCTL = `
case $1 in
  show) ;;
  *) exit 1 ;;
esac
shift
between=
for unit; do
  case $unit in
    --*) ;;
    *) printf '%s' "$between"; cat "$here/$unit" 2>/dev/null || echo LoadState=not-found
       between='
' ;;
  esac
done`;

const NOT_BOOTED = 'echo "System has not been booted with systemd as init system (PID 1)." >&2; exit 1';

export class FakeSystemd {
  readonly folder: string;

  /** At first there is no systemd, and the clock follows a time server. */
  constructor(t: Cleanup) {
    this.folder = temporaryFolder(t);
    this.program('systemctl', NOT_BOOTED);
    this.program('journalctl', 'echo "No journal files were found." >&2; exit 1');
    this.program('timedatectl', 'echo NTPSynchronized=yes');
  }

  /** @param script in sh. */
  program(name: string, script: string): void {
    const file = path.join(this.folder, name);
    fs.writeFileSync(file, `#!/bin/sh\nhere='${this.folder}'\n${script}\n`, { mode: 0o755 });
  }

  /** The units as the package has them, on a data directory and a port; and a journal without a line. */
  boot(data: string, port: number, settings: Properties = {}): void {
    this.program('systemctl', SYSTEMCTL);
    this.program('journalctl', 'exit 0');
    this.settings({ COURTD_DATA: data, COURTD_MIN_FREE: '1KiB', ...settings });
    this.unit('courtd.service', {
      ActiveState: 'active',
      UnitFileState: 'enabled',
      Result: 'success',
      EnvironmentFiles: `${this.folder}/courtd.env (ignore_errors=yes)`,
      Environment: '',
    });
    this.unit('courtd.socket', {
      ActiveState: 'active',
      UnitFileState: 'enabled',
      Listen: `127.0.0.1:${port} (Stream)`,
    });
    for (const name of ['backup', 'prune']) {
      this.unit(`courtd-${name}.timer`, {
        ActiveState: 'active',
        UnitFileState: 'enabled',
        Result: 'success',
      });
      this.unit(`courtd-${name}.service`, {
        ActiveState: 'inactive',
        UnitFileState: 'static',
        Result: 'success',
      });
    }
  }

  unit(name: string, properties: Properties): void {
    const lines = Object.entries({ LoadState: 'loaded', ...properties }).map((pair) => `${pair.join('=')}\n`);
    fs.writeFileSync(path.join(this.folder, name), lines.join(''));
  }

  /** Changes some properties of a unit. */
  change(name: string, properties: Properties): void {
    const lines = fs.readFileSync(path.join(this.folder, name), 'utf8').trim().split('\n');
    const before = lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]);
    this.unit(name, { ...Object.fromEntries(before), ...properties });
  }

  settings(settings: Properties): void {
    const lines = Object.entries(settings).map(([name, value]) => `${name}="${value}"\n`);
    fs.writeFileSync(path.join(this.folder, 'courtd.env'), `# Settings.\n${lines.join('')}`);
  }

  /** For this process as well, until the test is over. */
  use(t: Cleanup): void {
    const before = process.env.PATH;
    process.env.PATH = this.environment().PATH;
    t.teardown(() => {
      process.env.PATH = before;
    });
  }

  environment(more: Record<string, string> = {}): Record<string, string> {
    return { PATH: `${this.folder}:${process.env.PATH}`, ...more };
  }

  courtd(args: readonly string[], env: Record<string, string> = {}): Promise<CommandResult> {
    return courtd(args, this.environment(env));
  }
}

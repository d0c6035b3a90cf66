import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { type Cleanup, start, temporaryFolder } from './daemon.ts';
import { Lines } from './lines.ts';

/** A program called systemd-notify that writes down its arguments: first on the PATH, it is all that courtd sees of systemd. */
export class FakeNotify {
  /** The arguments of each call, separated by "|". */
  readonly messages: Lines<string>;
  /** The variables by which courtd finds it. */
  readonly env: Record<string, string>;

  /** @param extra shell commands that it runs first. */
  constructor(t: Cleanup, extra = '') {
    const folder = temporaryFolder(t);
    const fifo = path.join(folder, 'messages');
    execFileSync('mkfifo', [fifo]);
    const program = path.join(folder, 'systemd-notify');
    const script = `#!/bin/sh\n${extra}\nIFS='|'\nprintf '%s\\n' "$NOTIFY_SOCKET|$*" >'${fifo}'\n`;
    fs.writeFileSync(program, script, { mode: 0o755 });
    const reader = start('sh', ['-c', 'exec cat <>"$0"', fifo]);
    t.teardown(() => reader.kill('SIGKILL'));
    this.messages = new Lines(reader.stdout, (text) => text);
    this.env = { PATH: `${folder}:${process.env.PATH}`, NOTIFY_SOCKET: '/run/somewhere/notify' };
  }
}

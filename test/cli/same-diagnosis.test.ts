import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import type { CheckResult } from '../../src/health/finding.ts';
import type { Status } from '../../src/health/status.ts';
import { courtd, temporaryFolder } from '../harness/daemon.ts';
import { events } from '../harness/events.ts';
import { FakeSystemd } from '../harness/fakeSystemd.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { Committer, court, scratch } from '../harness/scratchStore.ts';

runInProcess();

const DAY_MS = 86_400_000;
const SHIP = { COURTD_SHIP_URL: 'nats://127.0.0.1:1', COURTD_SHIP_BOX: 'venue-17' };

t.test(
  'what both status and check decide, they say in the same words: message, advice and level',
  async (t) => {
    const { folder: data, db } = scratch(t);
    const threeDaysAgo = Date.now() - 3 * DAY_MS;
    new Committer(db, () => threeDaysAgo).append(...court(...events(1)));
    db.close();
    const backups = temporaryFolder(t);
    t.equal((await courtd(['backup', backups, '--data', data])).status, 0);
    fs.writeFileSync(path.join(data, 'courtd.backup'), `${new Date(threeDaysAgo).toISOString()}\n`);
    const system = new FakeSystemd(t);
    system.boot(data, 1, { ...SHIP, COURTD_BACKUP_DIR: backups, COURTD_MIN_FREE: '900000000GiB' });
    system.change('courtd-prune.service', { Result: 'exit-code' });
    const ask = async (verb: string) => {
      const { stdout } = await system.courtd([verb, '--json', '--data', data], SHIP);
      return JSON.parse(stdout);
    };
    const { problems } = (await ask('status')) as Status;
    const found = (await ask('check')) as CheckResult[];
    const WHERE: Readonly<Record<string, string>> = {
      daemon_stopped: 'port',
      no_token: 'token',
      disk_low: 'disk',
      prune_failed: 'units',
      no_backup: 'backup',
      ship_stopped: 'ship',
    };
    t.strictSame(
      problems.map(({ code }) => code),
      Object.keys(WHERE),
    );
    for (const { code, level, message, advice } of problems) {
      const check = found.find(({ name }) => name === WHERE[code])!;
      t.equal(check.level, level, code);
      t.ok(
        check.message.includes(withoutTimes(message)) ||
          withoutTimes(check.message).includes(withoutTimes(message)),
        `${check.message} / ${message}`,
      );
      t.ok(check.advice.includes(advice), `${check.advice} / ${advice}`);
    }
  },
);

/** They are asked one after the other. */
function withoutTimes(message: string): string {
  return message.replaceAll(/\d+(\.\d+)? \w+/g, 'N');
}

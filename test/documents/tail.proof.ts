import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { BIN, cleanEnvironment, Daemon, temporaryFolder } from '../harness/daemon.ts';
import { events } from '../harness/events.ts';
import { missingPrograms } from '../harness/needs.ts';

const GUIDE = fs.readFileSync(path.resolve(import.meta.dirname, '../../systemd/TAIL.md'), 'utf8');

const skip = missingPrograms({ python3: 'python3' }) ?? false;

t.test(
  'the script of TAIL.md carries every event into its file once, also when it is killed',
  { skip },
  async (t) => {
    const daemon = await Daemon.start(t, ['--rate-limit', '0']);
    const folder = temporaryFolder(t);
    const script = path.join(folder, 'forward.py');
    // It syncs once a second: here as often as it can, so that it is killed between its steps.
    const code = /```python\n(.*?)```/s.exec(GUIDE)![1]!.replace('time.sleep(1)', 'time.sleep(0.01)');
    fs.writeFileSync(script, code);
    const target = path.join(folder, 'events.ndjson');
    const env = cleanEnvironment({
      COURTD_DATA: daemon.data,
      PATH: `${path.dirname(BIN)}:${process.env.PATH}`,
    });
    const forward = () => {
      // A group of its own, with the tail in it.
      const child = spawn('env', ['-u', 'NODE_OPTIONS', 'python3', script, target], { env, detached: true });
      const ended = once(child, 'close');
      const kill = async () => {
        process.kill(-child.pid!, 'SIGKILL');
        await ended;
      };
      return kill;
    };
    const lines = () =>
      fs.existsSync(target) ? fs.readFileSync(target, 'utf8').split('\n').slice(0, -1) : [];
    const sent: { event_id: string }[] = [];
    let kill = forward();
    t.teardown(() => kill().catch(() => {}));
    for (let round = 0; round < 3; round++) {
      const before = sent.length;
      for (let batch = 0; batch < 4; batch++) {
        const some = events(250);
        sent.push(...some);
        await daemon.post(some);
      }
      while (lines().length <= before) await sleep(5);
      await kill();
      kill = forward();
    }
    while (lines().length < sent.length) await sleep(20);
    await kill();
    const ids = lines().map((line) => JSON.parse(line).event.event_id);
    t.strictSame(
      ids,
      sent.map(({ event_id }) => event_id),
    );
  },
);

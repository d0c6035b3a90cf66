import fs from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import t, { type Test } from 'tap';
import type { CopyStatus } from '../../src/health/boxStatus.ts';
import { BIN, cleanEnvironment, courtd, Daemon, run, start, temporaryFolder } from '../harness/daemon.ts';
import { event, events } from '../harness/events.ts';
import { SmallDisk, withoutMount } from '../harness/smallDisk.ts';
import { Fault, SYNC, WRITE, withoutStrace } from '../harness/strace.ts';

class Following {
  readonly daemon: Daemon;
  readonly place: string;
  readonly #t: Test;
  readonly #env: Record<string, string>;
  follower: ReturnType<typeof start> | undefined;

  private constructor(t: Test, daemon: Daemon, place: string, env: Record<string, string>) {
    this.#t = t;
    this.daemon = daemon;
    this.place = place;
    this.#env = env;
  }

  static async start(t: Test, place: string): Promise<Following> {
    const env = { COURTD_RUN_DIR: temporaryFolder(t) };
    const following = new Following(t, await Daemon.start(t, [], undefined, env), place, env);
    following.follow();
    return following;
  }

  follow(): void {
    const args = ['backup', `${this.place}/`, '--follow', '--data', this.daemon.data];
    const child = start(BIN, args, { env: cleanEnvironment(this.#env) });
    this.follower = child;
    this.#t.teardown(() => child.kill('SIGKILL'));
  }

  async kill(): Promise<void> {
    const ended = new Promise((resolve) => this.follower!.once('exit', resolve));
    this.follower!.kill('SIGKILL');
    await ended;
  }

  async until(isSo: (copy: CopyStatus) => boolean): Promise<CopyStatus> {
    for (;;) {
      const { copy } = JSON.parse(
        (await courtd(['status', '--json', '--data', this.daemon.data], this.#env)).stdout,
      );
      if (copy !== null && isSo(copy)) return copy;
    }
  }

  async current(): Promise<void> {
    await this.until(
      ({ error, behind_events, seq }) => error === null && behind_events === 0 && seq !== null,
    );
  }

  /** Compares the copy with the box, byte for byte. */
  async isWhole(): Promise<void> {
    await this.current();
    const lines = async (data: string) =>
      (await courtd(['tail', '--json', '--after', '0', '--data', data])).stdout;
    this.#t.equal(await lines(this.place), await lines(this.daemon.data));
    const db = new Database(path.join(this.place, 'courtd.db'), { readonly: true });
    this.#t.equal(db.pragma('integrity_check', { simple: true }), 'ok');
    db.close();
  }
}

t.test('the follower is killed while events come: the copy has each once, and continues', async (t) => {
  const box = await Following.start(t, temporaryFolder(t));
  for (let kill = 0; kill < 8; kill++) {
    for (let batch = 0; batch < 5; batch++) await box.daemon.post(events(200));
    if (kill % 2 === 0) await box.until(({ seq }) => (seq ?? 0) > kill * 1_000);
    await box.kill();
    box.follow();
  }
  await box.daemon.post(event());
  await box.isWhole();
});

t.test(
  'a stick that is full, pulled out, or swapped: events are stored, and the copy continues',
  { skip: withoutMount },
  async (t) => {
    const stick = await SmallDisk.mount(t, 8);
    // Those of a tmpfs are such that root does not open a database there.
    fs.chmodSync(stick.folder, 0o755);
    const box = await Following.start(t, stick.folder);
    await box.daemon.post(events(50));
    await box.isWhole();

    stick.fill();
    await box.daemon.post(events(400));
    t.match(await box.until(({ error }) => error !== null), { error: /full/ });
    stick.makeRoom();
    await box.isWhole();

    await run('mount', ['-o', 'remount,ro', stick.folder]);
    await box.daemon.post(events(5));
    await box.until(({ error }) => error !== null);
    await run('mount', ['-o', 'remount,rw', stick.folder]);
    await box.isWhole();

    const saved = path.join(temporaryFolder(t), 'saved.db');
    fs.copyFileSync(path.join(stick.folder, 'courtd.db'), saved);
    await run('umount', ['-l', stick.folder]);
    await box.daemon.post(events(5));
    t.match(await box.until(({ error }) => error !== null), { error: /not mounted/ });
    t.strictSame(fs.readdirSync(stick.folder), [], 'nothing is begun below the mount');
    await run('mount', ['-t', 'tmpfs', '-o', 'size=8M,mode=755', 'tmpfs', stick.folder]);
    await box.isWhole();
    fs.copyFileSync(saved, path.join(stick.folder, 'courtd.db'));
    await box.daemon.post(events(5));
    await box.isWhole();
  },
);

t.test(
  'a stick that hangs: events are stored, nothing of the box waits for it, and the copy continues',
  { skip: withoutStrace },
  async (t) => {
    const box = await Following.start(t, temporaryFolder(t));
    await box.daemon.post(events(50));
    await box.isWhole();
    const hangs = { calls: `${SYNC},${WRITE}`, effect: 'delay_enter=600000000', file: 'courtd.db' };
    const fault = await Fault.begin(t, { child: box.follower!, data: box.place }, hangs);
    for (let batch = 0; batch < 20; batch++) t.equal((await box.daemon.post(events(20))).status, 202);
    await fault.met();
    const copy = await box.until(({ behind_events }) => (behind_events ?? 0) >= 400);
    t.match(copy, { seq: 50, behind_events: 400 });
    const db = new Database(path.join(box.daemon.data, 'courtd.db'));
    t.match(db.pragma('wal_checkpoint(TRUNCATE)'), [{ busy: 0 }], 'the follower holds nothing of the box');
    db.close();
    await fault.end();
    await box.isWhole();
  },
);

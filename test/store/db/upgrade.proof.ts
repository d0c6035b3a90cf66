import fs from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import t from 'tap';
import { SCHEMA_VERSION } from '../../../src/store/db/schema.ts';
import { BIN, type Cleanup, courtd, Daemon, run, temporaryFolder } from '../../harness/daemon.ts';
import { events } from '../../harness/events.ts';
import { makeNewer } from '../../harness/newerCourtd.ts';
import { SmallDisk, withoutMount } from '../../harness/smallDisk.ts';

/** A courtd with one more migration than this one. */
const folder = temporaryFolder(t);
const NEWER = path.join(folder, 'newer');
makeNewer(NEWER);
const NEWER_BIN = path.join(NEWER, 'bin/courtd');
const COPY = `courtd.db.layout-${SCHEMA_VERSION}`;
const NEW_LAYOUT = SCHEMA_VERSION + 1;

async function filled(t: Cleanup, data = temporaryFolder(t)) {
  const daemon = await Daemon.start(t, [], data);
  const sent = events(500);
  await (await daemon.post(sent)).text();
  return { daemon, sent };
}

function layout(file: string): unknown {
  const db = new Database(file, { readonly: true });
  try {
    return [
      db.pragma('user_version', { simple: true }),
      db.prepare('SELECT count(*) FROM event').pluck().get(),
    ];
  } finally {
    db.close();
  }
}

/** The newer courtd. */
function newer(t: Cleanup, data: string, token: string): Promise<Daemon> {
  return Daemon.run(t, data, token, [], {}, [], NEWER_BIN);
}

t.test(
  'upgrade and way back: copied aside first, said in the log, and the old version names the copy',
  async (t) => {
    const { daemon, sent } = await filled(t);
    const { data, token } = daemon;
    const exported = await daemon.exported('session-1');
    // With a WAL that holds all events.
    await daemon.stop('SIGKILL');
    for (const command of [
      ['session', 'list'],
      ['token', 'rotate'],
      ['backup', folder],
    ]) {
      const refused = await run(NEWER_BIN, [...command, '--data', data]);
      t.match(refused, {
        status: 1,
        stdout: '',
        stderr: /was written by an older courtd .*Start "courtd serve --data .*" once/,
      });
    }
    t.strictSame(layout(path.join(data, 'courtd.db')), [SCHEMA_VERSION, 500], 'only serve changes it');

    const upgraded = await newer(t, data, token);
    t.strictSame(layout(path.join(data, COPY)), [SCHEMA_VERSION, 500]);
    t.equal(fs.statSync(path.join(data, COPY)).mode & 0o777, 0o660);
    t.equal(upgraded.log.find(({ copy }) => copy !== undefined)?.copy, path.join(data, COPY));
    t.strictSame(await (await upgraded.post(sent)).json(), { accepted: 0, duplicates: 500 });
    await (await upgraded.post(events(20))).text();
    await upgraded.stop();
    t.strictSame(layout(path.join(data, 'courtd.db')), [NEW_LAYOUT, 520]);

    const back = await courtd(['serve', '--port', '0', '--data', data]);
    t.equal(back.status, 1);
    const command = / "courtd (restore .*)"\.\n$/.exec(back.stderr)?.[1];
    t.equal(command, `restore ${path.join(data, COPY)} --data ${data}`);
    const restored = await courtd((command ?? '').split(' '));
    t.equal(restored.status, 0, restored.stderr);
    const old = await Daemon.run(t, data, token);
    t.strictSame(await old.exported('session-1'), exported);
    t.strictSame(await (await old.post(sent)).json(), { accepted: 0, duplicates: 500 });
    await (await old.post(events(7))).text();
    await old.stop();
    const kept = fs.readdirSync(data).filter((name) => name.includes('.replaced-'));
    t.strictSame(
      kept.map((name) => layout(path.join(data, name))),
      [[NEW_LAYOUT, 520]],
      'the newer one is kept',
    );

    await (await newer(t, data, token)).stop();
    t.strictSame(layout(path.join(data, COPY)), [SCHEMA_VERSION, 507], 'upgraded again: the copy is of now');
  },
);

t.test('no room for the copy: nothing is changed, and it says so', { skip: withoutMount }, async (t) => {
  const disk = await SmallDisk.mount(t, 8);
  const { daemon } = await filled(t, disk.data);
  await daemon.stop();
  disk.fill(96 * 1024);
  const { status, stderr } = await run(NEWER_BIN, ['serve', '--port', '0', '--data', disk.data]);
  t.equal(status, 1);
  t.match(stderr, /^courtd: [^\n]+courtd\.db [^\n]+ [\d.]+ KiB[^\n]+ [\d.]+ KiB [^\n]+\n$/);
  t.strictSame(layout(path.join(disk.data, 'courtd.db')), [SCHEMA_VERSION, 500]);
  t.notOk(fs.readdirSync(disk.data).some((name) => name.includes('layout') || name.includes('partial')));
  t.equal((await run(BIN, ['session', 'list', '--data', disk.data])).status, 0);
});

import fs from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';
import t from 'tap';
import { courtd, Daemon, temporaryFolder } from '../harness/daemon.ts';
import { ANNA, erase } from '../harness/erasedPlayer.ts';
import { event } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { serveAgain } from '../harness/servingAgain.ts';

runInProcess();
serveAgain();

/** Where something of a player who is erased may be left. */

const hit = (payload: object, more: object = {}) => event({ type: 'BALL_HIT', payload, ...more });

t.test('what was refused and cannot be read goes: it may name him', async (t) => {
  const daemon = await Daemon.start(t);
  await daemon.post(hit({ player_id: ANNA }));
  const text = JSON.stringify(hit({ player_id: ANNA }));
  // Its header says nothing of gzip.
  await daemon.post(zlib.gzipSync(text));
  await daemon.post(Buffer.from(`\ufeff${text}`, 'utf16le'));
  await daemon.post('{"event_id":"of somebody else"');
  // Nobody who was never here takes them along.
  t.match(await daemon.command('player', 'erase', 'p-nobody', '--yes'), {
    status: 1,
    stderr: /No event names/,
  });
  t.match(await erase(daemon, ANNA), { rejections: 2 });
  t.equal(JSON.parse((await daemon.command('rejections', '--json')).stdout).length, 1);
});

t.test('refused bodies that were set aside because they are damaged go', async (t) => {
  const daemon = await Daemon.start(t);
  await daemon.post(hit({ player_id: ANNA }));
  const aside = path.join(daemon.data, 'refused.db.damaged-20260314T150926Z');
  fs.writeFileSync(aside, ANNA);
  t.match(await erase(daemon, ANNA), { events: 1 });
  t.notOk(fs.existsSync(aside));
});

t.test('an event of somebody else that happens later by its clock does not come back', async (t) => {
  const daemon = await Daemon.start(t);
  const eot = new Date(Date.now() + 86_400_000).toISOString();
  const sent = hit({ player_id: 'p-bea', rival: ANNA }, { eot, session_id: 's' });
  await daemon.post(sent);
  const backups = temporaryFolder(t);
  await daemon.command('backup', `${backups}/`);
  t.match(await erase(daemon, ANNA), { events: 1 });
  t.equal(await daemon.stop(), 0);
  const [backup] = fs.readdirSync(backups);
  const { status, stderr } = await daemon.command('restore', path.join(backups, backup!));
  t.equal(status, 0, stderr);
  t.notMatch((await daemon.exported('s')).join(), ANNA);
});

t.test('the place of a copy is in the receipt, even if only its follower knows it', async (t) => {
  const daemon = await Daemon.start(t);
  const COURTD_RUN_DIR = temporaryFolder(t);
  await daemon.post(hit({ player_id: ANNA }));
  const report = { at: new Date().toISOString(), epoch: null, seq: null, last_at: null, error: null };
  fs.writeFileSync(
    path.join(COURTD_RUN_DIR, 'copy.json'),
    JSON.stringify({ ...report, place: '/media/copy' }),
  );
  const erase = ['player', 'erase', ANNA, '--yes', '--json', '--data', daemon.data];
  const { stdout } = await courtd(erase, { COURTD_RUN_DIR });
  t.strictSame(JSON.parse(stdout).places, [{ kind: 'copy', place: '/media/copy' }]);
});

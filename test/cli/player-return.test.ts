import fs from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';
import t from 'tap';
import { courtd, Daemon, temporaryFolder } from '../harness/daemon.ts';
import { ANNA, erase, eraseAnna, filesWith, rally } from '../harness/erasedPlayer.ts';
import { event } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { serveAgain } from '../harness/servingAgain.ts';

runInProcess();
serveAgain();

/** Who was erased does not come back with a backup or an old export, and is left nowhere. */

t.test('a backup from before is restored without him, and the receipt names it', async (t) => {
  const daemon = await Daemon.start(t);
  await daemon.post(rally('match-1'));
  const folder = temporaryFolder(t);
  const backup = path.join(folder, 'yesterday.db');
  t.equal((await daemon.command('backup', backup)).status, 0);
  const receipt = await eraseAnna(daemon);
  t.match(receipt.places, [{ kind: 'backup', place: backup }]);
  const nightly = path.join(folder, 'nightly');
  fs.mkdirSync(nightly);
  t.equal((await daemon.command('backup', nightly)).status, 0);
  const { stdout } = await courtd(['player', 'erase', ANNA, '--yes', '--json', '--data', daemon.data], {
    COURTD_BACKUP_DIR: nightly,
  });
  const found = JSON.parse(stdout).places.map(({ place }: { place: string }) => place);
  t.match(found, [new RegExp(`^${nightly}/courtd-`), backup], 'also one made by hand');
  t.equal(await daemon.stop(), 0);
  t.match(await daemon.command('restore', backup), { status: 0 });
  const replaced = fs.readdirSync(daemon.data).filter((name) => name.includes('.replaced-'));
  t.same(
    filesWith(daemon.data, ANNA),
    replaced.filter((name) => filesWith(daemon.data, ANNA).includes(name)),
  );
  const again = await Daemon.run(t, daemon.data, daemon.token);
  t.notMatch((await again.exported('match-1')).join(), ANNA);
  t.same(await (await again.post(rally('match-2'))).json(), { accepted: 7, duplicates: 0 });
  t.notMatch((await again.exported('match-2')).join(), ANNA, 'the ledger is in the restored one, too');
});

t.test('onto a new disk a backup brings him back, and restore and receipt say so', async (t) => {
  const daemon = await Daemon.start(t);
  await daemon.post(rally('match-1'));
  const backups = temporaryFolder(t);
  t.equal((await daemon.command('backup', backups)).status, 0);
  await eraseAnna(daemon);
  const [name] = fs.readdirSync(backups);
  const data = temporaryFolder(t);
  const restored = await courtd(['restore', path.join(backups, name!), '--data', data]);
  t.match(restored, {
    status: 0,
    stderr: /no list of erased players.*"courtd player erase /,
  });
  t.notMatch(restored.stderr, /kept as/);
});

t.test('an old export that is imported elsewhere on the box brings nobody back', async (t) => {
  const daemon = await Daemon.start(t);
  await daemon.post(rally('match-1'));
  const file = path.join(temporaryFolder(t), 'old.ndjson');
  fs.writeFileSync(file, `${(await daemon.exported('match-1')).join('\n')}\n`);
  await eraseAnna(daemon);
  t.equal((await daemon.command('prune', '--older-than', '1s', '--yes')).status, 0);
  t.match(await daemon.command('import', file), { status: 0 });
  t.equal((await daemon.exported('match-1')).length, 7);
  t.same(filesWith(daemon.data, ANNA), []);
});

const hit = (payload: object, more: object = {}) => event({ type: 'BALL_HIT', payload, ...more });

t.test('what was refused and cannot be read goes: it may name him', async (t) => {
  const daemon = await Daemon.start(t);
  await daemon.post(hit({ player_id: ANNA }));
  const text = JSON.stringify(hit({ player_id: ANNA }));
  // Its header says nothing of gzip.
  await daemon.post(zlib.gzipSync(text));
  await daemon.post(Buffer.from(`\ufeff${text}`, 'utf16le'));
  for (const body of [`{"a":"b", x": "${ANNA}"}`, `[{"payload": {"player_id":"${ANNA}`])
    await daemon.post(body);
  await daemon.post('{"event_id":"of somebody else"');
  // Nobody who was never here takes them along.
  t.match(await daemon.command('player', 'erase', 'p-nobody', '--yes'), {
    status: 1,
    stderr: /No event names/,
  });
  t.match(await erase(daemon, ANNA), { rejections: 4 });
  t.equal(JSON.parse((await daemon.command('rejections', '--json')).stdout).length, 1);
});

t.test('refused bodies that were set aside because they are damaged go', async (t) => {
  const daemon = await Daemon.start(t);
  await daemon.post(hit({ player_id: ANNA }));
  const aside = path.join(daemon.data, 'refused.db.damaged');
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

import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { run, temporaryFolder } from '../harness/daemon.ts';

const SCRIPT = path.resolve(import.meta.dirname, '../../scripts/package/courtd');

/** @returns the data directory that the installed program has, with these settings of the service. */
async function dataWith(settings: string): Promise<string> {
  const file = path.join(temporaryFolder(t), 'courtd.env');
  fs.writeFileSync(file, settings);
  const script = fs
    .readFileSync(SCRIPT, 'utf8')
    .replace('/etc/courtd/courtd.env', file)
    .replace(/^exec .*$/m, `printf '<%s>' "\${COURTD_DATA-}"`);
  const { status, stdout, stderr } = await run('sh', ['-c', script], { env: { PATH: process.env.PATH } });
  t.strictSame({ status, stderr }, { status: 0, stderr: '' }, JSON.stringify(settings));
  return stdout;
}

t.test('the program on the PATH reads the data directory as systemd does', async (t) => {
  for (const settings of [
    '',
    '#COURTD_DATA=/srv/a\n',
    'COURTD_DATA=\n',
    'COURTD_DATA=/srv/a\nCOURTD_DATA=\n',
  ]) {
    t.equal(await dataWith(settings), '<>', JSON.stringify(settings));
  }
  for (const value of [
    '/srv/a b',
    '/srv/a b \t',
    '"/srv/a b"',
    "'/srv/a b' ",
    ' /srv/a b',
    '/srv/a b\r',
    '"/srv/a b"\r',
  ]) {
    t.equal(await dataWith(`COURTD_VENUE=v\nCOURTD_DATA=${value}\n`), '</srv/a b>', JSON.stringify(value));
  }
  t.equal(await dataWith('COURTD_DATA=/srv/a\n  COURTD_DATA = /srv/b'), '</srv/b>', 'the last one');
  t.equal(await dataWith("COURTD_DATA=/srv/it's\n"), "</srv/it's>");
});

import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { SCHEMA_VERSION } from '../../../src/store/db/schema.ts';
import { CONFLICT, ERASED, REVISED, SENT } from '../../fixtures/contents.ts';
import { courtd, Daemon, temporaryFolder } from '../../harness/daemon.ts';
import { runInProcess } from '../../harness/inProcess.ts';
import { serveAgain } from '../../harness/servingAgain.ts';

runInProcess();
serveAgain();

const FIXTURES = path.resolve(import.meta.dirname, '../../fixtures');

/** Whether every event is stored as it was sent, with its marks. */
async function asSent(data: string): Promise<unknown> {
  const { stdout } = await courtd(['tail', '--json', '--after', '0', '--data', data]);
  const lines = stdout.split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line)).map(({ event, erased }) => (erased ? 'erased' : event));
}

const expected = [...SENT, REVISED, 'erased'];

t.test('every layout has a fixture', (t) => {
  const names = fs.readdirSync(FIXTURES).filter((name) => name.endsWith('.db'));
  t.strictSame(
    names.sort(),
    Array.from({ length: SCHEMA_VERSION }, (_, i) => `layout-${i + 1}.db`),
  );
  t.end();
});

for (let layout = 1; layout <= SCHEMA_VERSION; layout++) {
  const fixture = path.join(FIXTURES, `layout-${layout}.db`);
  const token = fs.readFileSync(path.join(FIXTURES, `layout-${layout}.token`), 'utf8');

  t.test(`a database of layout ${layout} is served: it has every event, and knows them`, async (t) => {
    const data = temporaryFolder(t);
    fs.copyFileSync(fixture, path.join(data, 'courtd.db'));
    const daemon = await Daemon.run(t, data, token);
    t.strictSame(await asSent(data), expected);
    const again = await daemon.post([...SENT, REVISED, ERASED]);
    t.equal(again.headers.get('Courtd-Conflicts'), null);
    t.strictSame(await again.json(), { accepted: 0, duplicates: SENT.length + 2 });
    await daemon.stop();
    const { stdout } = await courtd(['conflicts', '--json', '--data', data]);
    t.match(JSON.parse(stdout), [{ event_id: CONFLICT.event_id, times: 1, other: CONFLICT }]);
  });

  t.test(`a backup of layout ${layout} is restored: it has every event, and its token works`, async (t) => {
    const data = path.join(temporaryFolder(t), 'data');
    const stderr = `: ${expected.length} events of 2 sessions, `;
    t.match(await courtd(['restore', fixture, '--data', data]), { status: 0, stderr });
    t.strictSame(await asSent(data), expected);
    const daemon = await Daemon.run(t, data, token);
    t.strictSame(await (await daemon.post(SENT)).json(), { accepted: 0, duplicates: SENT.length });
  });
}

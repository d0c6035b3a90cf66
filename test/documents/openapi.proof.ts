import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { courtd, run, temporaryFolder } from '../harness/daemon.ts';
import { ROOT } from '../harness/documents.ts';

/** The OpenAPI document before a judge from outside. `test/http/openapi.test.ts` compares it with requests and answers. */

const BINARIES = path.join(ROOT, 'node_modules/.bin');
const env = {
  ...process.env,
  REDOCLY_TELEMETRY: 'off',
  REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
  NO_COLOR: '1',
};

const folder = temporaryFolder(t);
const file = path.join(folder, 'openapi.json');
const written = await courtd(['openapi', '-o', file]);

/** @returns what the strictest of its own rule sets, where every warning is an error, says of a document. */
function lint(document: string) {
  const args = [path.join(BINARIES, 'redocly'), 'lint', '--extends', 'recommended-strict', document];
  return run(process.execPath, args, { env, cwd: folder });
}

t.test('Redocly finds nothing to say against it', async (t) => {
  t.strictSame([written.status, written.stdout], [0, '']);
  const { status, stdout, stderr } = await lint(file);
  t.equal(status, 0, stdout + stderr);
  t.match(stdout + stderr, 'Your API description is valid');
  t.notMatch(stdout + stderr, /warning/i);
  const wrong = path.join(folder, 'wrong.json');
  fs.writeFileSync(wrong, fs.readFileSync(file, 'utf8').replace('"confidence": 0.97', '"confidence": 97'));
  t.not((await lint(wrong)).status, 0, 'and does of one with an example that is not valid');
});

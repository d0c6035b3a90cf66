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

/** Compiles every pattern of a document with Python's own regular expressions, and matches some texts with that of an id and an eot. */
const PYTHON = `
import json, re, sys
document = json.load(open(sys.argv[1]))
def patterns(value):
    if isinstance(value, dict):
        if isinstance(value.get("pattern"), str): yield value["pattern"]
        value = list(value.values())
    if isinstance(value, list):
        for one in value: yield from patterns(one)
print(len([re.compile(pattern) for pattern in patterns(document)]))
of = document["components"]["schemas"]["Envelope"]["properties"]
for name, text in json.loads(sys.argv[2]):
    print(bool(re.search(of[name]["pattern"], text)))
`;

t.test('Python, whose regular expressions are others, reads its patterns', async (t) => {
  const texts: [name: string, text: string, isValid: boolean][] = [
    ...(['é', '🎾'.repeat(256), '\u2028'].map((text) => ['event_id', text, true]) as typeof texts),
    ...(['', '🎾'.repeat(257), 'a\u0085', '\ud83c'].map((text) => ['event_id', text, false]) as typeof texts),
    ['eot', '20260314 150926,5z', true],
    ['eot', '2026-03-14T1509Z', false],
    ['eot', '\u0662026-03-14T15:09Z', false],
    ['schema_version', '1.2.3', true],
    ['schema_version', '1.\u0661', false],
  ];
  const input = JSON.stringify(texts.map(([name, text]) => [name, text]));
  const { status, stdout, stderr } = await run('python3', ['-c', PYTHON, file, input]);
  t.equal(status, 0, stderr);
  const [count, ...found] = stdout.trim().split('\n');
  t.ok(Number(count) >= 7, `${count} patterns`);
  t.strictSame(
    found,
    texts.map(([, , isValid]) => (isValid ? 'True' : 'False')),
  );
});

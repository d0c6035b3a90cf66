import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import * as limits from '../../src/base/limits.ts';
import { loadVerbs, makeProgram } from '../../src/cli/program.ts';
import { PROBLEMS } from '../../src/protocol/errors.ts';
import { CHECK_NAMES } from '../../src/vendor/conformance/judge.ts';
import { Daemon } from '../harness/daemon.ts';
import {
  ARCHITECTURE,
  answerShown,
  blocks,
  OPERATOR_GUIDE,
  ROOT,
  tableBelow,
  textOf,
  VENDOR_GUIDE,
} from '../harness/documents.ts';

t.test("the vendor's guide lists every problem, with its status and whether to try again", async (t) => {
  const documented = tableBelow(VENDOR_GUIDE, '### Errors').map(([code, status, retry]) => [
    code,
    status,
    retry,
  ]);
  const table = Object.entries(PROBLEMS).map(([code, { status, retryable }]) => [
    `\`${code}\``,
    String(status),
    retryable ? 'yes' : 'no',
  ]);
  t.strictSame(documented, table);
});

t.test("the operator's guide lists every setting of serve, with its variable and default", async (t) => {
  const program = await loadVerbs(makeProgram(), ['serve']);
  const serve = program.commands.find((command) => command.name() === 'serve');
  const options = [...program.options, ...(serve?.options ?? [])].filter((option) => option.envVar);
  const settings = options.map((option) => [
    `\`${option.long}\``,
    `\`${option.envVar}\``,
    option.defaultValue === undefined
      ? 'none'
      : `\`${option.defaultValueDescription ?? option.defaultValue}\``,
  ]);
  const documented = tableBelow(OPERATOR_GUIDE, '## Settings').map(([flag, variable, value]) => [
    flag,
    variable,
    value,
  ]);
  t.strictSame(documented, settings);
  const units = fs.readdirSync(path.join(ROOT, 'systemd')).filter((name) => name.endsWith('.service'));
  for (const unit of units) {
    const text = fs.readFileSync(path.join(ROOT, 'systemd', unit), 'utf8');
    for (const [name] of text.matchAll(/COURTD_[A-Z_]+/g))
      t.match(textOf(OPERATOR_GUIDE), `\`${name}\``, `${unit}: ${name}`);
  }
});

t.test("the vendor's guide states the limits that hold", async (t) => {
  const [kib, mib] = [1024, 1024 ** 2];
  const thousands = (value: number) => value.toLocaleString('en');
  const seconds = (ms: number) => `${ms / 1000} s`;
  const stated = Object.fromEntries(
    tableBelow(VENDOR_GUIDE, '## Limits').map(([what, limit]) => [what, limit]),
  );
  t.match(stated, {
    'events in a request': `${limits.BATCH_EVENTS}`,
    'body, as sent and as decoded': `${limits.BODY_BYTES / mib} MiB, unless set otherwise`,
    'JSON values in a body, at any depth': thousands(limits.BODY_VALUES),
    'levels of nesting in an event': `${limits.EVENT_DEPTH_LEVELS}`,
    'characters in an id, in an `eot`': `${limits.NAME_CODE_POINTS}, ${limits.EOT_CHARS}`,
    headers: `${limits.HEADERS_BYTES / kib} KiB, ${limits.HEADER_FIELDS} fields`,
    'time for the headers': seconds(limits.HEADERS_TIMEOUT_MS),
    'time for a TLS handshake': seconds(limits.HEADERS_TIMEOUT_MS),
    'time for a whole request': seconds(limits.REQUEST_TIMEOUT_MS),
    'idle connection': seconds(limits.KEEP_ALIVE_MS),
    'requests a second from one address': `${thousands(limits.RATE_PER_S)}, in a burst ${thousands(2 * limits.RATE_PER_S)}`,
    'connections from one address': thousands(limits.CONNECTIONS_PER_ADDRESS),
    'connections in all': thousands(limits.CONNECTIONS),
    [`large bodies (over ${limits.SMALL_BODY_BYTES / kib} KiB) in progress`]: /MiB/,
  });
});

t.test('the page on personal data states how much is kept, and for how long', async (t) => {
  const page = textOf('systemd/PERSONAL-DATA.md');
  for (const stated of [
    `the newest ${limits.CONFLICT_COPIES.toLocaleString('en')}`,
    `the last ${limits.REFUSED_KEPT.toLocaleString('en')} without a body of each kind of error`,
    `${limits.REFUSED_MS / 86_400_000} days, ${limits.REFUSED_BYTES / 1024 ** 2} MiB (\`COURTD_REFUSED_BYTES\`)`,
    `${limits.QUOTED_CHARS} characters of a value that was refused`,
  ])
    t.ok(page.includes(stated), stated);
});

t.test('the architecture names every dependency', async (t) => {
  const manifest = JSON.parse(fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8'));
  const named = tableBelow(ARCHITECTURE, '## Dependencies').flatMap(
    ([names]) => names?.match(/[\w@/-]+/g) ?? [],
  );
  t.strictSame(named.sort(), Object.keys(manifest.dependencies).sort());
  const [, ofTests = ''] = textOf(ARCHITECTURE).split('\n## Dependencies\n');
  for (const name of Object.keys(manifest.devDependencies).filter((name) => !name.startsWith('@types/')))
    t.match(ofTests, `\`${name}\``);
});

t.test("the vendor's guide has every line of the verdict, in its order", async (t) => {
  const lines = tableBelow(VENDOR_GUIDE, '## The certificate').map(([name]) => name);
  t.strictSame(
    lines,
    CHECK_NAMES.map((name) => `\`${name}\``),
  );
});

t.test('the error of a batch in the guide is the error that is answered', async (t) => {
  const daemon = await Daemon.start(t);
  const sample = blocks(VENDOR_GUIDE, 'json').find((code) => code.includes('"invalid"'));
  const good = JSON.parse(/<<'END'\n(.*?)END\n/s.exec(textOf(VENDOR_GUIDE))?.[1] ?? '');
  const answer = await daemon.post([good, { ...good, event_id: 'b7d0cee4', confidence: 1.2 }]);
  t.strictSame(answerShown(await answer.text()), answerShown(sample ?? ''));
});

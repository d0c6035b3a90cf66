import fs from 'node:fs';
import path from 'node:path';
import t, { type Test } from 'tap';
import { commandsOf, usageOf } from '../../scripts/package/commands.ts';
import { completionOf } from '../../scripts/package/completion.ts';
import { manualOf } from '../../scripts/package/manual.ts';
import { settingsOf } from '../../scripts/package/settings.ts';
import { makeProgram } from '../../src/cli/program.ts';
import { run, temporaryFolder } from '../harness/daemon.ts';

const commands = commandsOf(makeProgram());
const leaves = commands.filter(({ children }) => children.length === 0);

/** The text of a man page, as it is written. */
const manual = manualOf(makeProgram(), { version: '1.2.3', time: 0 });
const plain = manual.replaceAll('\\-', '-').replaceAll('\\(dq', '"');

t.test('the man page has every command, argument, option and variable', async (t) => {
  t.ok(leaves.length > 5);
  for (const { path: names, arguments: args, options } of leaves) {
    const usage = ['courtd', ...names, ...args.map(usageOf)].join(' ');
    const start = plain.indexOf(`.SS "${usage}`);
    t.ok(start > 0, usage);
    const section = plain.slice(start, plain.indexOf('\n.S', start + 1));
    for (const { flags, envVar = '' } of options) {
      t.ok(section.includes(`\\fB${flags}\\fR`) && section.includes(envVar), `${usage}: ${flags}`);
      t.ok(plain.includes(`\\fB${envVar}`), `${usage}: ${envVar}`);
    }
  }
  for (const { flags } of commands[0]!.options) t.ok(plain.includes(`\\fB${flags}\\fR`), flags);
});

const hasMan = (await run('man', ['--version'])).status === 0;

t.test('man has nothing to say against the man page', { skip: !hasMan && 'there is no man' }, async (t) => {
  const file = path.join(temporaryFolder(t), 'courtd.1');
  fs.writeFileSync(file, manual);
  const { status, stdout, stderr } = await run('man', ['--warnings', '-E', 'UTF-8', '-l', file]);
  t.strictSame({ status, stderr }, { status: 0, stderr: '' });
  t.match(stdout, /courtd export \[session\] \[options\]/);
});

/** What bash offers after a line, as if Tab was pressed at its end; `bash` reads what is typed as words. */
async function complete(t: Test, words: string[], cwd = '/'): Promise<string[]> {
  const file = path.join(temporaryFolder(t), 'completion');
  fs.writeFileSync(file, completionOf(makeProgram()));
  const ask = `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
    _courtd; for word in "\${COMPREPLY[@]}"; do echo "$word"; done`;
  const { stdout, stderr } = await run('bash', ['-c', ask, 'bash', file, 'courtd', ...words], { cwd });
  t.equal(stderr, '', words.join(' '));
  return stdout.split('\n').filter(Boolean).sort();
}

t.test('Tab offers every command and option of the program, and the choices of an option', async (t) => {
  for (const { path: names, options, children } of commands) {
    if (children.length > 0) t.strictSame(await complete(t, [...names, '']), [...children].sort());
    const offered = await complete(t, [...names, '--']);
    for (const { long } of [...options, { long: '--data' }, { long: '--help' }]) {
      t.ok(offered.includes(long!), `${names.join(' ')} ${long}`);
    }
    for (const { long, argChoices } of options.filter((option) => option.argChoices)) {
      t.strictSame(await complete(t, [...names, long!, '']), [...argChoices!].sort(), `${long}`);
    }
  }
  t.strictSame(await complete(t, ['to']), ['token'], 'a prefix');
  t.strictSame(
    await complete(t, ['--data', '/srv/x', 'token', 'r']),
    ['revoke', 'rotate'],
    'after an option',
  );
  t.strictSame(await complete(t, ['export', 's', '--format', '=', 'n']), ['ndjson'], 'after an equals sign');
  t.strictSame(await complete(t, ['export', 'token', '']), [], 'a session of the name of a command');
});

t.test('Tab offers files where one is named, also with a space in its name', async (t) => {
  const folder = temporaryFolder(t);
  fs.writeFileSync(path.join(folder, 'a match.csv'), '');
  fs.mkdirSync(path.join(folder, 'archive'));
  t.strictSame(await complete(t, ['export', 's', '-o', 'a'], folder), ['a match.csv', 'archive']);
  t.strictSame(await complete(t, ['export', 's', '--data', 'a'], folder), ['archive']);
});

t.test('courtd.env has every variable of serve and of the timers, each commented out', async (t) => {
  const settings = settingsOf(makeProgram());
  const lines = settings.split('\n');
  t.strictSame(
    lines.filter((line) => line !== '' && !line.startsWith('#')),
    [],
  );
  const serve = commands.filter(({ path }) => ['', 'serve'].includes(path.join(' ')));
  const variables = serve.flatMap(({ options }) => options.flatMap(({ envVar }) => envVar ?? []));
  t.ok(variables.length > 5);
  const units = path.resolve(import.meta.dirname, '../../systemd');
  const texts = fs.readdirSync(units).map((name) => fs.readFileSync(path.join(units, name), 'utf8'));
  const ofUnits = texts.flatMap((text) => text.match(/COURTD_[A-Z_]+/g) ?? []);
  for (const name of new Set([...variables, ...ofUnits])) {
    const at = lines.findIndex((line) => line.startsWith(`#${name}=`));
    t.match(lines[at - 1], /^# ./, name);
  }
});

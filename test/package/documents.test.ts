import fs from 'node:fs';
import path from 'node:path';
import t, { type Test } from 'tap';
import { commandsOf } from '../../scripts/package/commands.ts';
import { completionOf } from '../../scripts/package/completion.ts';
import { manualOf } from '../../scripts/package/manual.ts';
import { settingsOf } from '../../scripts/package/settings.ts';
import { VARIABLES } from '../../src/cli/options/environmentVariables.ts';
import { loadVerbs, makeProgram } from '../../src/cli/program.ts';
import { run, temporaryFolder } from '../harness/daemon.ts';

const program = await loadVerbs(makeProgram());
const commands = commandsOf(program);
/** Those that run: of a group that has options of its own, the group too. */
const leaves = commands.filter(
  ({ path, children, options }) => children.length === 0 || (path.length > 0 && options.length > 0),
);
/** Those of the program, which every command takes; `--help` is commander's own. */
const globals = commands[0]!.options.filter(({ long }) => long !== '--version');

t.test('the man page has every command with its arguments and options', async (t) => {
  const sections = manualOf(commands)
    .replaceAll('\\-', '-')
    .split(/^\.SS /m)
    .slice(1);
  t.equal(sections.length, leaves.length);
  for (const { path: names, arguments: args, options } of leaves) {
    const text = sections.find((section) => section.startsWith(`"courtd ${names.join(' ')} `)) ?? '';
    for (const term of [...args.map((one) => one.name()), ...options.map(({ flags }) => flags)])
      t.ok(text.includes(term), `${names.join(' ')} ${term}`);
  }
});

/** What bash offers after each of these lines, as if Tab was pressed at its end. One shell is asked: there are hundreds. */
async function completeEach(
  t: Test,
  lines: readonly string[][],
  cwd = temporaryFolder(t),
): Promise<string[][]> {
  const script = path.join(cwd, '.courtd.bash');
  fs.writeFileSync(script, completionOf(program));
  const ask = `source "$1"; shift
    while (($#)); do
      COMP_WORDS=("\${@:2:$1}"); COMP_CWORD=$(($1 - 1)); COMPREPLY=(); shift $(($1 + 1))
      _courtd; for word in "\${COMPREPLY[@]}"; do echo "$word"; done; echo END
    done`;
  const asked = lines.flatMap((words) => [`${words.length + 1}`, 'courtd', ...words]);
  const { stdout, stderr } = await run('bash', ['-c', ask, 'bash', script, ...asked], { cwd });
  t.equal(stderr, '');
  const offered = stdout.split('END\n').slice(0, -1);
  t.equal(offered.length, lines.length);
  return offered.map((words) => words.split('\n').filter(Boolean).sort());
}

t.test('Tab offers the commands, options and choices of the program, and no others', async (t) => {
  const cases: [line: string[], offered: readonly string[]][] = [];
  for (const { path: names, options, children, arguments: args } of commands) {
    if (children.length > 0 || args.length === 0) cases.push([[...names, ''], children]);
    const all = [...new Set([...options, ...globals])];
    const flags = all.flatMap(({ short, long }) => [short, long].filter((name) => name !== undefined));
    const offered = [...flags, '--help'];
    cases.push([[...names, '-'], offered]);
    for (const { long, argChoices, required } of all) {
      // Where a value is awaited, none of the options is.
      cases.push([[...names, long!, '-'], required ? [] : offered]);
      if (argChoices) cases.push([[...names, long!, ''], argChoices]);
    }
  }
  const lines = cases.map(([line]) => line);
  for (const [i, offered] of (await completeEach(t, lines)).entries())
    t.strictSame(offered, [...cases[i]![1]].sort(), lines[i]!.join(' '));
});

t.test('courtd.env has every variable of serve and of the timers, each commented out', async (t) => {
  const settings = settingsOf(program);
  for (const [name] of settings.matchAll(/COURTD_[A-Z_]+/g)) {
    t.ok(VARIABLES.includes(name), `${name} is one that courtd knows`);
  }
  const lines = settings.split('\n');
  t.strictSame(
    lines.filter((line) => line !== '' && !line.startsWith('#')),
    [],
  );
  const serve = commands.filter(({ path }) => ['', 'serve'].includes(path.join(' ')));
  const variables = serve.flatMap(({ options }) => options.flatMap(({ envVar }) => envVar ?? []));
  t.ok(variables.length > 5);
  const units = path.resolve(import.meta.dirname, '../../systemd');
  const files = fs
    .readdirSync(units, { withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.md'));
  const texts = files.map(({ name }) => fs.readFileSync(path.join(units, name), 'utf8'));
  const ofUnits = texts.flatMap((text) => text.match(/COURTD_[A-Z_]+/g) ?? []);
  for (const name of new Set([...variables, ...ofUnits])) {
    const at = lines.findIndex((line) => line.startsWith(`#${name}=`));
    t.match(lines[at - 1], /^# ./, name);
  }
});

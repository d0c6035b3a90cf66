import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { makeProgram } from '../../src/cli/program.ts';
import { PROBLEMS } from '../../src/protocol/errors.ts';
import { cleanEnvironment, Daemon, run as runProgram } from '../harness/daemon.ts';
import { block, README } from '../harness/documents.ts';

/** @returns the cells of every table row whose first cell is code, such as `invalid_json`. */
function rowsWithCode(section: string): string[][] {
  const text = README.slice(README.indexOf(section));
  const table = /\n\|[^\n]*\n\|[ |-]*\n((?:\|[^\n]*\n)+)/.exec(text)?.[1] ?? '';
  return table
    .split('\n')
    .filter(Boolean)
    .map((row) =>
      row
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

t.test('the README lists every problem, with its status and whether to try again', async (t) => {
  const documented = rowsWithCode('Branch on `code`').map(([code, status, retry]) => [code, status, retry]);
  const table = Object.entries(PROBLEMS).map(([code, { status, retryable }]) => [
    `\`${code}\``,
    String(status),
    retryable ? 'yes' : 'no',
  ]);
  t.strictSame(documented, table);
});

t.test('the README lists every setting of serve, with its variable and default', async (t) => {
  const program = makeProgram();
  const serve = program.commands.find((command) => command.name() === 'serve');
  const options = [...program.options, ...(serve?.options ?? [])].filter((option) => option.envVar);
  const settings = options.map((option) => [
    `\`${option.long}\``,
    `\`${option.envVar}\``,
    option.defaultValue === undefined
      ? 'none'
      : `\`${option.defaultValueDescription ?? option.defaultValue}\``,
  ]);
  const documented = rowsWithCode('### Settings of').map(([flag, variable, value]) => [
    flag,
    variable,
    value,
  ]);
  t.strictSame(documented, settings);
});

t.test('the README names every dependency', async (t) => {
  const manifest = JSON.parse(
    fs.readFileSync(path.resolve(import.meta.dirname, '../../package.json'), 'utf8'),
  );
  const named = rowsWithCode('`npm run check` is the gate').flatMap(
    ([names]) => names?.match(/[\w@/-]+/g) ?? [],
  );
  t.strictSame(named.sort(), Object.keys(manifest.dependencies).sort());
});

t.test('the examples for camera vendors run as they are written', async (t) => {
  const daemon = await Daemon.start(t);
  const env = cleanEnvironment({ BOX: '127.0.0.1', TOKEN: daemon.token });
  const run = async (shell: string, code: string) => {
    const file = path.join(daemon.data, 'example.mjs');
    fs.writeFileSync(file, code.replace('4000', `${daemon.port}`));
    return (await runProgram(shell, [file], { env })).stdout;
  };
  t.equal(await run('sh', block('sh')), '{"accepted":1,"duplicates":0}');
  t.equal(await run('sh', block('sh')), '{"accepted":0,"duplicates":1}', 'sent again');
  t.equal(await run('python3', block('python')), "{'accepted': 1, 'duplicates': 0}\n");
  t.equal(await run(process.execPath, block('js')), '{ accepted: 1, duplicates: 0 }\n');
});

t.test('the error in the README is the error that is answered', async (t) => {
  const daemon = await Daemon.start(t);
  const sample = JSON.parse(block('json'));
  const good = JSON.parse(/-d '(.*?)'/s.exec(block('sh'))?.[1] ?? '')[0];
  const answer = (await (
    await daemon.post([good, { ...good, event_id: 'b7d0cee4', confidence: 1.2 }])
  ).json()) as object;
  t.strictSame({ ...answer, request_id: '' }, { ...sample, request_id: '' });
});

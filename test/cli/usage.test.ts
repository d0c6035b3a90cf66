import fs from 'node:fs';
import path from 'node:path';
import type { Command } from 'commander';
import t from 'tap';
import { optionVariables, VARIABLES } from '../../src/cli/options/environmentVariables.ts';
import { loadVerbs, makeProgram } from '../../src/cli/program.ts';
import { courtd, Daemon, temporaryFolder } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { commandInProcess, runInProcess } from '../harness/inProcess.ts';
import { Committer, court, scratch } from '../harness/scratchStore.ts';
import { serveAgain } from '../harness/servingAgain.ts';

runInProcess();
serveAgain();

const SCREEN = { lines: 24, columns: 80 };
const WRONG = [
  'nonsense',
  'help nonsense',
  'token',
  'token nonsense',
  'token revoke',
  'token revoke 0',
  'token list extra',
  'token rotate --nonsense',
  'session show',
  'event show s',
  'player export',
  'player list --last 2',
  'player export p -o',
  'export',
  'export s --format xml',
  'export s --type ball_hit',
  'export s --from yesterday',
  'export s --from 15:09:26Z',
  'export s --from 2026-03-14T15:00:01Z --to 2026-03-14T15:00:00Z',
  'export s -o',
  'export s --describe',
  'export s --json',
  'serve --port 65536',
  'serve --port http',
  'serve --rate-limit 1.5',
  'serve --body-limit 8MB',
  'serve --body-limit 1GiB',
  'serve --log-level loud',
  'serve --quiet 23-7',
  'serve --quiet 24:00-07:00',
  'serve --quiet 07:00-07:00',
  'serve --data',
  'serve --tls-cert',
  'serve --run-dir',
  'fleet init',
  'fleet init http://hq',
  'fleet tail nats://hq --box Venue',
  'tail --order time',
  'tail --after -1',
  'tail --type x',
  'fleet status nats://hq,tls://hq-2',
  'ship',
  'ship --box venue-7',
  'simulate',
  'export --day 2026-03-14 -o -',
  'export --day 2026-03-14',
  'export --day 2026-03-14 match-17 -o /tmp',
  'export --day 2026-03-14 -o /tmp --from 14:00',
  'export --day 2026-02-30 -o /tmp',
  'export --day today -o /tmp',
  'export --since 14:00',
  'export --until 14:00 -o /tmp/',
  'export --since 14:00 -o /tmp/ match-17',
  'export --since 14:00 -o /tmp/ --day 2026-03-14',
  'export --since 14:00:01 --until 14:00 -o /tmp/',
  'export --since 14:00 -o /tmp/ --from 14:00',
  'backup',
  'backup ',
  'backup /tmp --keep 0',
  'backup /tmp --follow --keep 3',
  'prune --older-than soon',
  'prune',
  'prune --older-than 90',
  'prune --older-than 0',
  'prune --older-than 0d',
  'prune --older-than 90d --type X',
  'prune --older-than 1d extra',
];

t.test('wrong usage prints to standard error with status 2, and creates nothing', async (t) => {
  const folder = temporaryFolder(t);
  const check = async (line: string) => {
    const env = { COURTD_DATA: path.join(folder, 'data') };
    const { status, stdout, stderr } = await commandInProcess(line.split(' '), env);
    t.strictSame({ status, stdout }, { status: 2, stdout: '' }, line);
    t.match(
      stderr,
      line === 'token' ? /^Usage: courtd token/ : /^courtd: [^\n]+\n(?:[^\n ][^\n]*\n){0,2}$/,
      line,
    );
    if (line.startsWith('prune')) t.notMatch(stderr, 'Give 0', 'nothing is advised that is refused');
  };
  await Promise.all(WRONG.map(check));
  t.match(await courtd([]), { status: 2, stdout: '', stderr: /^Usage: courtd/ });
  t.strictSame(fs.readdirSync(folder), []);
});

t.test('wrong usage names the fault, and the command that shows the help', async (t) => {
  const told = async (line: string) => (await commandInProcess(line.split(' '))).stderr;
  const shows = (command: string) => `.\nRun "${command} --help" to see its options.\n`;
  t.equal(await told('report'), `courtd: missing required argument 'session'${shows('courtd report')}`);
  t.equal(await told('token reset'), `courtd: unknown command 'reset'${shows('courtd token')}`);
  t.match(await told('--port 1 serve'), "unknown option '--port'.\n");
  t.match(await told('export --day 2026-03-14'), /^courtd: name the directory/);
  t.match(await told('serve --prot 1'), '(Did you mean --port?)\n');
  t.match(await told('stats'), '(Did you mean status?)\n');
  t.match(await told('export -xY3'), '\'-xY3\'. A name that begins with "-" needs "--" before it.\n');
  t.match(
    await told('token revoke main'),
    "'main' is invalid for argument 'id'. Give a whole number, 1 or more.\n",
  );
});

t.test('a wrong URL is told alike, wherever it comes from, and never with its password', async (t) => {
  const wrong = 'ftp://u:SECRET@hq';
  for (const [args, env] of [
    [['ship'], { COURTD_SHIP_URL: wrong, COURTD_SHIP_BOX: 'venue-7' }],
    [['fleet', 'status', wrong], {}],
  ] as const) {
    const { status, stderr } = await commandInProcess(args, env);
    t.equal(status, 2, args.join(' '));
    t.match(stderr, /^courtd: "…@hq" is no address [^\n]*Give nats:\/\/[^\n]+\n$/);
  }
});

const withoutTimes = (text: string) => text.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME');

t.test('- is standard output, and no file of that name is made', async (t) => {
  const { folder, db } = scratch(t);
  new Committer(db).append(...court(event({ session_id: 's' })));
  for (const command of ['export s', 'export s --format parquet', 'report s', 'openapi', 'support']) {
    const run = (...more: string[]) => courtd([...command.split(' '), '--data', folder, ...more]);
    const [without, dash] = [await run(), await run('-o', '-')];
    t.equal(dash.status, 0, command);
    // An export says as of when it is, on standard error and in the metadata of Parquet; a file for support has the time in it.
    t.equal(withoutTimes(dash.stderr), withoutTimes(without.stderr));
    t.equal(dash.stdout.split('\n').length, without.stdout.split('\n').length);
    const [more, less] = [dash, without].map(({ stdout }) => withoutTimes(stdout));
    if (command !== 'support') t.ok(more === less, `${command}: what it prints without -o`);
  }
  t.notOk(fs.existsSync('-'));
});

t.test('a variable with a wrong value is wrong usage too, and is named', async (t) => {
  const wrong = {
    COURTD_PORT: 'http',
    COURTD_RATE_LIMIT: '-1',
    COURTD_BODY_LIMIT: 'big',
    COURTD_LOG_LEVEL: 'loud',
  };
  const check = async ([name, value]: [string, string]) => {
    const data = path.join(temporaryFolder(t), 'data');
    const { status, stderr } = await commandInProcess(['serve', '--data', data], { [name]: value });
    t.equal(status, 2, name);
    t.match(stderr, name);
    t.notOk(fs.existsSync(data));
  };
  await Promise.all(Object.entries(wrong).map(check));
});

t.test('help and version are no failure, and help shows the defaults of serve', async (t) => {
  const [help, version] = await Promise.all([commandInProcess(['serve', '--help']), courtd(['--version'])]);
  t.strictSame([help.status, help.stderr, version.status], [0, '', 0]);
  t.match(version.stdout, /^\d+\.\d+\.\d+\n$/);
  t.match(help.stdout, /--port .*default: 4000/);
  t.match(help.stdout, /--data .*default: \/var\/lib\/courtd/);
  t.match(help.stdout, 'COURTD_BODY_LIMIT');
});

t.test('the help of each command has an example of it, and fits on a screen', async (t) => {
  const look = async (command: Command, name: string): Promise<void> => {
    for (const inner of command.commands) await look(inner, `${name} ${inner.name()}`.trim());
    if (name === '') return;
    const { stdout } = await commandInProcess([...name.split(' '), '--help']);
    const lines = stdout.trimEnd().split('\n');
    t.ok(lines.length <= SCREEN.lines, `${name}: ${lines.length} lines`);
    t.strictSame(
      lines.filter((line) => line.length > SCREEN.columns),
      [],
      name,
    );
    if (command.commands.length > 0) return;
    t.equal(lines.filter((line) => line.startsWith('  --data ')).length, 1, name);
    const example = new RegExp(`^ {2}(?:\\w.*)?courtd ${name}`);
    t.ok(
      lines.slice(lines.findIndex((line) => line.startsWith('  --data '))).some((line) => example.test(line)),
    );
  };
  await look(await loadVerbs(makeProgram()), '');
});

t.test('help is a command, too, and names one that there is not', async (t) => {
  for (const [command, option] of [
    ['help', '--help'],
    ['help export', 'export --help'],
    ['token help rotate', 'token rotate --help'],
  ] as const) {
    const [a, b] = await Promise.all([courtd(command.split(' ')), courtd(option.split(' '))]);
    t.strictSame(a, b, command);
    t.strictSame([a.status, a.stderr], [0, ''], command);
  }
  t.match(await courtd(['help', 'exprot']), { status: 2, stderr: /'exprot'\n\(Did you mean export\?\)/ });
});

t.test('a command that a message names has the data directory that was given', async (t) => {
  const folder = temporaryFolder(t);
  const { stderr } = await courtd(['export', 's', '--data', folder]);
  t.match(stderr, `"courtd token rotate --data ${folder}"`);
  t.notMatch((await courtd(['export', 's'], { COURTD_DATA: folder })).stderr, '--data /');
});

t.test('every command reports a variable that courtd does not know', async (t) => {
  t.equal(
    (await courtd(['help'], { COURTD_PROT: 'secret' })).stderr,
    'courtd: The variable COURTD_PROT has no effect. "courtd serve --help" shows the settings.\n',
  );
  const { stderr, status } = await courtd(['token', 'list'], {
    COURTD_DAAT: '/none',
    COURTD_DATA: '/none',
  });
  t.match(stderr, 'The variable COURTD_DAAT has no effect');
  t.equal(status, 1);

  t.test('and no other one is', async (t) => {
    const units = path.resolve(import.meta.dirname, '../../systemd');
    const files = fs.readdirSync(units, { withFileTypes: true }).filter((entry) => entry.isFile());
    const texts = files.map(({ name }) => fs.readFileSync(path.join(units, name), 'utf8'));
    const ofUnits = texts.flatMap((text) => text.match(/COURTD_[A-Z_]+/g) ?? []);
    const ofOptions = optionVariables(await loadVerbs(makeProgram()));
    t.ok(ofUnits.length > 0 && ofOptions.length > 0);
    for (const name of [...ofUnits, ...ofOptions])
      t.ok(!name.startsWith('COURTD_') || VARIABLES.includes(name), name);
    const env = { COURTD_PORT: '1', COURTD_KEEP: '365d', COURTD_NONE: '', COURTDX: '1' };
    t.equal((await courtd(['help'], env)).stderr, '');
  });
});

t.test('--data is taken before the verb, after it, after its arguments, and from COURTD_DATA', async (t) => {
  const data = temporaryFolder(t);
  const other = path.join(data, 'other');
  await courtd(['token', 'rotate', '--data', data]);
  const ways: [args: string[], env?: Record<string, string>][] = [
    [['--data', data, 'token', 'list', '--json']],
    [['token', '--data', data, 'list', '--json']],
    [['token', 'list', '--json', '--data', data]],
    [['token', 'list', `--data=${data}`, '--json']],
    [['token', 'list', '--json'], { COURTD_DATA: data }],
    [['token', 'list', '--json', '--data', data], { COURTD_DATA: other }],
  ];
  const check = async ([args, env]: (typeof ways)[number]) => {
    const { status, stdout } = await courtd(args, env);
    t.strictSame([status, JSON.parse(stdout).length], [0, 1], args.join(' '));
  };
  await Promise.all(ways.map(check));
  t.notOk(fs.existsSync(other));
});

t.test('an empty variable counts as unset', async (t) => {
  const { stderr, status } = await courtd(['session', 'list'], { COURTD_DATA: '' });
  t.equal(status, 1);
  t.match(stderr, '/var/lib/courtd');
  const empty = { COURTD_VENUE: '', COURTD_PORT: '', COURTD_RATE_LIMIT: '', COURTD_BODY_LIMIT: '' };
  const daemon = await Daemon.run(t, temporaryFolder(t), '', [], { ...empty, COURTD_LOG_LEVEL: '' });
  t.match(await daemon.logged('listening'), { level: 'info', venue: null });
});

t.test('every variable of serve does what its option does, and the option wins', async (t) => {
  const set = { COURTD_VENUE: 'venue-1', COURTD_BODY_LIMIT: '1KiB', COURTD_LOG_LEVEL: 'debug' };
  const [daemon, limited] = await Promise.all([
    Daemon.start(t, [], temporaryFolder(t), set),
    Daemon.start(t, ['--venue', 'venue-2'], temporaryFolder(t), { ...set, COURTD_RATE_LIMIT: '1' }),
  ]);
  for (const sent of [event(), event()]) t.equal((await daemon.post(sent)).status, 202);
  t.equal((await daemon.post(event({ venue_id: 'venue-2' }))).status, 400);
  t.equal((await daemon.post(' '.repeat(1025))).status, 413);
  await daemon.stop();
  t.ok(daemon.log.some(({ level }) => level === 'debug'));
  // A slow machine may be given one more meanwhile: until one is refused.
  const statuses: number[] = [];
  while (statuses.length < 20 && statuses.at(-1) !== 429) {
    const answers = [0, 1, 2].map(() => limited.post(event({ venue_id: 'venue-2' })));
    statuses.push(...(await Promise.all(answers)).map(({ status }) => status).sort());
  }
  t.strictSame([...new Set(statuses)], [202, 429]);
});

import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { DataDirectory } from '../../src/base/dataDirectory.ts';
import { EVENT_TYPES } from '../../src/protocol/eventTypes.ts';
import { openDatabase } from '../../src/store/db/openDatabase.ts';
import { BIN, cleanEnvironment, Daemon, run, temporaryFolder } from '../harness/daemon.ts';
import { blocks, OPERATOR_GUIDE } from '../harness/documents.ts';
import { event, events } from '../harness/events.ts';
import { commandInProcess } from '../harness/inProcess.ts';
import { written } from '../harness/refused.ts';
import { serveAgain } from '../harness/servingAgain.ts';

serveAgain();

/** The event that the operator's guide looks at. */
const SHOWN = '0198c5e2-7d1c-7a54-9d54-3b1d0f2a9c11';

interface Example {
  readonly command: string;
  readonly output: string;
}

/** Every command of the operator's guide that runs without an installed package, with what the guide shows of it. */
const EXAMPLES: readonly Example[] = blocks(OPERATOR_GUIDE, 'console').flatMap((code) =>
  code
    .split(/^\$ /m)
    .filter(Boolean)
    .map((example) => {
      const [command, ...output] = example.split('\n');
      return { command: command!, output: output.join('\n') };
    }),
);

/** What the guide's commands are run on: two matches, with every type, revisions, resends and conflicts. */
async function fill(daemon: Daemon): Promise<void> {
  const of17 = { session_id: 'match-17', court_id: 'court-7', source: 'court-7-cam-1' };
  const first = EVENT_TYPES.map((type) => event({ ...of17, type, event_id: randomUUID(), payload: {} }));
  const bounce = event({ ...of17, event_id: SHOWN, payload: { x_ft: 12.4, y_ft: 7.85, is_in: true } });
  const corrected = { ...bounce, revision: 1, payload: { ...bounce.payload, is_in: false } };
  const conflicts = first.slice(0, 3).map((one) => ({ ...one, confidence: 0.5 }));
  await daemon.post([...first, bounce, corrected]);
  await daemon.post([...first.slice(3), ...conflicts]);
  await daemon.post([event({ session_id: 'match-18' }), event({ session_id: 'match-18' })]);
  const faulty = { ...bounce, event_id: randomUUID(), payload: { x_ft: '12.4', y_ft: 7.85 } };
  await daemon.post([...events(36, of17), faulty]);
  const percent = { session_id: 'match-18', court_id: 'court-8', source: 'court-8-cam-1', confidence: 97 };
  const batch = [...events(24, percent), event({ ...percent, confidence: 0.9 })];
  await daemon.post(batch.map((one) => ({ ...one, event_id: randomUUID() })));
  await written(daemon);
}

/** A text without the parts that differ each time: numbers, times, tokens, the width of a table. */
function shape(text: string): string {
  return (
    text
      .replace(/^[\w-]{43}$/gm, 'TOKEN')
      .replace(/\b[\da-f]{8}-[\da-f]{4}\b/g, 'ID')
      .replace(/ID(?:-[\da-f]{4}){2}-[\da-f]{12}/g, 'UUID')
      .replace(/\d+(?:\.\d+)?/g, '0')
      .replace(/\b(?:[KMGT]i)?B\b/g, 'MiB')
      .replace(/[ ]+/g, ' ')
      // A machine of the tests has several addresses, or none.
      .replace(/(?:^ http:\/\/0\.0:0(?: \(this machine only\))?\n?)+$/gm, ' http://0.0:0')
      .trim()
  );
}

t.test("the commands of the operator's guide print the output that it shows", async (t) => {
  const folder = temporaryFolder(t);
  const [data, backups, bin] = ['data', 'backups', 'bin'].map((name) => path.join(folder, name)) as [
    string,
    string,
    string,
  ];
  fs.mkdirSync(backups);
  fs.mkdirSync(bin);
  fs.symlinkSync(BIN, path.join(bin, 'courtd'));
  fs.writeFileSync(path.join(bin, 'sudo'), '#!/bin/sh\nexec "$@"\n', { mode: 0o755 });
  const env = { COURTD_DATA: data, PATH: `${bin}:${process.env.PATH}`, TZ: 'UTC' };
  const folderBefore = process.cwd();
  process.chdir(folder);
  t.teardown(() => process.chdir(folderBefore));
  // On a box the daemon runs before anybody makes a token, and has made the database.
  openDatabase(new DataDirectory(data), { create: true }).close();
  let daemon: Daemon | undefined;
  t.ok(EXAMPLES.length > 12, `${EXAMPLES.length} examples`);
  for (const { command, output } of EXAMPLES) {
    if (command.includes('systemctl')) {
      if (command.includes('stop')) await daemon?.stop();
      if (command.endsWith('start courtd') && daemon !== undefined)
        daemon = await Daemon.run(t, data, daemon.token);
      continue;
    }
    const line = command
      .replace(/\/mnt\/backups\/courtd-\w+\.db/, path.join(backups, fs.readdirSync(backups)[0] ?? ''))
      .replace('/mnt/backups', backups)
      .replace('--day 2026-03-14', `--day ${new Date().toISOString().slice(0, 10)}`);
    // A process of its own takes most of the time of a command.
    const [, plain] = /^(?:sudo )?courtd ([^|<>"']*)$/.exec(line) ?? [];
    const { status, stdout, stderr } =
      plain === undefined
        ? await run('sh', ['-c', line], { env: cleanEnvironment(env) })
        : await commandInProcess(plain.split(' '), env);
    const said = `${stdout}${stderr}`.replaceAll(backups, '/mnt/backups').replaceAll(data, '/var/lib/courtd');
    t.equal(status, 0, command);
    t.equal(shape(said), shape(output), command);
    if (daemon !== undefined) continue;
    // The first one made the token: from here on it is a box that has served two matches.
    daemon = await Daemon.run(t, data, stdout.trim());
    await fill(daemon);
  }
  const lines = fs.readFileSync(path.join(folder, 'corrected.ndjson'), 'utf8').split('\n').filter(Boolean);
  const confidences = lines.map((line) => JSON.parse(line).event.confidence);
  t.strictSame(confidences, [...Array(24).fill(0.97), 0.9], 'what was valid is as it was');
});

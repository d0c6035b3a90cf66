import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import type { Look } from '../../src/health/alert/alertBook.ts';
import { Alerter, type ToldByTarget } from '../../src/health/alert/alerter.ts';
import type { AlertMessage } from '../../src/health/alert/alertMessage.ts';
import { ToldFile } from '../../src/health/alert/toldFile.ts';
import type { LastingProblem } from '../../src/health/finding.ts';
import { problem } from '../../src/health/problemTexts.ts';
import { temporaryFolder } from '../harness/daemon.ts';

/** Who is told what, and when: a simulated clock, and a webhook that may be dead. */

const START = Date.UTC(2026, 10, 20, 12);
const camera = (source: string) => ({ source, court_id: 'court-1', client: '10.0.7.21' });
const silent = (source: string, seconds = 180) =>
  problem('source_silent', `${source} on court-1`, '10.0.7.21', seconds, true);

class Box {
  readonly messages: AlertMessage[] = [];
  tries = 0;
  isDead = false;
  problems: readonly LastingProblem[] = [];
  isQuiet = false;
  isStopped = false;
  startedAt = START - 3_600_000;
  told: ToldByTarget = {};
  #ms = 0;
  #alerter = this.#make();

  #make(isOnce = false): Alerter {
    const send = async (message: AlertMessage) => {
      this.tries++;
      if (this.isDead) return 'it cannot be reached';
      this.messages.push(message);
      return undefined;
    };
    const keep = (told: ToldByTarget) => {
      this.told = JSON.parse(JSON.stringify(told));
    };
    const { told } = this;
    return new Alerter({
      box: 'venue-7',
      targets: [{ name: 'url', send }],
      told,
      keep,
      say: () => {},
      isOnce,
    });
  }

  /** Its process ends, and another begins. */
  restart(): void {
    this.#alerter = this.#make();
  }

  async once(): Promise<boolean> {
    this.#alerter = this.#make(true);
    this.#alerter.look(this.#look(), this.#now());
    return this.#alerter.deliver(this.#now());
  }

  async pass(seconds: number): Promise<void> {
    for (const endMs = this.#ms + seconds * 1_000; this.#ms < endMs; this.#ms += 1_000) {
      if (this.#ms % 20_000 === 0) this.#alerter.look(this.#look(), this.#now());
      await this.#alerter.deliver(this.#now());
    }
  }

  /** @returns what each message says is new, and solved. */
  get news(): readonly string[] {
    const names = (problems: readonly { code: string; message: string }[]) =>
      problems
        .map(({ code, message }) => `${code} ${/camera-\d/.exec(message)?.[0] ?? ''}`.trim())
        .join(', ');
    return this.messages.map((message) => `+${names(message.new)} -${names(message.solved)}`);
  }

  #now() {
    return { ms: this.#ms, atMs: START + this.#ms };
  }

  #look(): Look {
    if (this.isStopped) return { unanswered: problem('daemon_stopped') };
    return {
      state: this.problems.length === 0 ? 'ok' : 'attention',
      up_s: (START + this.#ms - this.startedAt) / 1_000,
      last_backup_at: null,
      is_quiet_hours: this.isQuiet,
      problems: this.problems,
    };
  }
}

t.test('a camera dies, and comes back: one message each, whatever the seconds in its sentence', async (t) => {
  const box = new Box();
  await box.pass(120);
  t.strictSame(box.news, []);
  box.problems = [silent('camera-1')];
  await box.pass(60);
  box.problems = [silent('camera-1', 240)];
  await box.pass(600);
  t.strictSame(box.news, ['+source_silent camera-1 -']);
  t.match(box.messages[0], {
    box: 'venue-7',
    at: /^2026-11-20T12:03:\d\d\.000Z$/,
    state: 'attention',
    text: /^venue-7\ncamera-1 on court-1: no events and no empty arrays for 4 min\. Look at its power/,
    new: [{ code: 'source_silent', level: 'warn', message: /^camera-1/, advice: /ping 10\.0\.7\.21/ }],
    solved: [],
  });
  t.notHas(box.messages[0]!.new[0], { about: String });
  box.problems = [];
  await box.pass(600);
  t.strictSame(box.news.slice(1), ['+ -source_silent camera-1']);
  t.match(box.messages[1]!.text, /\nSolved: camera-1 on court-1: no events/);
});

t.test('what comes and goes within a minute is not told, nor that it went and came', async (t) => {
  const box = new Box();
  box.problems = [silent('camera-1')];
  await box.pass(40);
  box.problems = [];
  await box.pass(300);
  t.strictSame(box.news, []);
  box.problems = [silent('camera-1')];
  await box.pass(120);
  box.problems = [];
  await box.pass(40);
  box.problems = [silent('camera-1')];
  await box.pass(900);
  t.strictSame(box.news, ['+source_silent camera-1 -']);
});

t.test('at most one message in 5 min: later changes come together', async (t) => {
  const box = new Box();
  box.problems = [silent('camera-1')];
  await box.pass(100);
  for (const more of ['camera-2', 'camera-3']) {
    box.problems = [...box.problems, silent(more)];
    await box.pass(80);
  }
  t.equal(box.messages.length, 1);
  await box.pass(200);
  t.strictSame(box.news, ['+source_silent camera-1 -', '+source_silent camera-2, source_silent camera-3 -']);
});

t.test(
  'a dead line loses nothing, over a restart too; it is tried after 5 s, then ever more seldom',
  async (t) => {
    const box = new Box();
    box.isDead = true;
    box.problems = [silent('camera-1')];
    await box.pass(120);
    box.restart();
    await box.pass(100);
    box.problems = [];
    await box.pass(400);
    t.strictSame(box.news, []);
    const { tries } = box;
    await box.pass(3_600);
    t.ok(box.tries - tries >= 11 && box.tries - tries <= 14, `${box.tries - tries} tries in an hour`);
    box.isDead = false;
    await box.pass(301);
    t.strictSame(box.news, ['+source_silent camera-1 -source_silent camera-1']);
  },
);

t.test('what is back before anybody was told that it was over is as it was told', async (t) => {
  const box = new Box();
  box.problems = [silent('camera-1')];
  await box.pass(100);
  box.problems = [];
  await box.pass(100);
  box.problems = [silent('camera-1')];
  await box.pass(900);
  t.strictSame(box.news, ['+source_silent camera-1 -']);
});

t.test('a message that had to wait says how it is when it leaves', async (t) => {
  const box = new Box();
  box.isDead = true;
  box.problems = [silent('camera-1')];
  await box.pass(120);
  box.problems = [silent('camera-1', 7_200)];
  await box.pass(20);
  box.isDead = false;
  await box.pass(600);
  t.match(
    box.messages.map(({ text }) => text),
    [/for 2 h/],
  );
});

t.test('a restart tells nothing twice', async (t) => {
  const box = new Box();
  box.problems = [silent('camera-1')];
  await box.pass(120);
  box.restart();
  await box.pass(900);
  t.strictSame(box.news, ['+source_silent camera-1 -']);
});

t.test(
  'a daemon that stops is told, and that it runs again; its cameras are not called well meanwhile',
  async (t) => {
    const box = new Box();
    box.problems = [silent('camera-1')];
    await box.pass(120);
    box.isStopped = true;
    await box.pass(400);
    t.strictSame(box.news.slice(1), ['+daemon_stopped -']);
    t.equal(box.messages[1]!.state, 'stopped');
    box.isStopped = false;
    box.problems = [];
    box.startedAt = START + 520_000;
    await box.pass(280);
    t.strictSame(
      box.news.slice(2),
      ['+ -daemon_stopped'],
      'a daemon that has just started has not missed anybody yet',
    );
    await box.pass(600);
    t.strictSame(box.news.slice(3), ['+ -source_silent camera-1']);
  },
);

t.test('what is said for an hour is not called over by a restart that forgot it', async (t) => {
  const box = new Box();
  const conflicts = problem('conflicts', camera('camera-1'), 3);
  box.problems = [conflicts];
  await box.pass(120);
  box.startedAt = START + 120_000;
  box.problems = [];
  await box.pass(3_500);
  t.equal(box.messages.length, 1);
  await box.pass(400);
  t.strictSame(box.news.slice(1), ['+ -conflicts camera-1']);
});

t.test('quiet hours tell nobody that a silence is over', async (t) => {
  const box = new Box();
  box.problems = [silent('camera-1'), problem('no_token')];
  await box.pass(120);
  box.problems = [];
  box.isQuiet = true;
  await box.pass(900);
  t.strictSame(box.news.slice(1), ['+ -no_token']);
  box.isQuiet = false;
  await box.pass(600);
  t.strictSame(box.news.slice(2), ['+ -source_silent camera-1']);
});

t.test('--once tells at once what is new since the last message', async (t) => {
  const box = new Box();
  box.problems = [silent('camera-1')];
  box.isDead = true;
  t.equal(await box.once(), false);
  box.isDead = false;
  t.equal(await box.once(), true);
  t.equal(await box.once(), true);
  t.strictSame(box.news, ['+source_silent camera-1 -']);
});

t.test('a text names ten problems of each kind, and how many more there are', async (t) => {
  const box = new Box();
  box.problems = Array.from({ length: 14 }, (_, i) => silent(`camera-${i}`));
  await box.once();
  const [message] = box.messages;
  t.equal(message!.new.length, 14);
  t.equal(message!.text.split('\n').length, 12);
  t.match(message!.text, /\nAnd 4 more problems: "courtd status" on the box\.$/);
});

t.test('a text is never longer than ntfy takes, whatever the names', async (t) => {
  for (const name of ['camera', '\u{1F3BE}'.repeat(256)]) {
    const box = new Box();
    box.problems = Array.from({ length: 14 }, (_, i) => silent(`${name}-${i}`));
    await box.once();
    box.problems = Array.from({ length: 14 }, (_, i) => silent(`${name}-new-${i}`));
    await box.once();
    for (const { text } of box.messages) {
      t.ok(Buffer.byteLength(text) <= 4_096, `${Buffer.byteLength(text)} bytes`);
      t.match(text, /\nAnd \d+ more problems/);
      t.notMatch(text, /\ufffd/);
    }
  }
});

t.test('what could not be kept is kept as soon as that is possible', async (t) => {
  const folder = path.join(temporaryFolder(t), 'state');
  const said: string[] = [];
  const file = new ToldFile(path.join(folder, 'told.json'), (sentence) => said.push(sentence));
  const told = { url: { problems: [], due: { new: [], solved: [] }, at: 1 } };
  file.keep(told);
  t.notOk(file.isKept);
  file.keep();
  t.match(said, [/^Cannot write to /], 'it is said once');
  const inTheWay = path.join(folder, 'told.json');
  fs.mkdirSync(inTheWay, { recursive: true });
  file.keep();
  t.strictSame(fs.readdirSync(folder), ['told.json'], 'a file that could not be written leaves nothing');
  fs.rmdirSync(inTheWay);
  file.keep();
  t.ok(file.isKept);
  t.strictSame(file.read(), told);
});

import t, { type Test } from 'tap';
import { courtd } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { Committer, court, scratch } from '../harness/scratchStore.ts';

runInProcess();

/** The report of two minutes in which each second is known: its times, and what ends a rally. */

/** A session of two minutes on court-1, in the night in which clocks go forward in Berlin: a hit each second, and its bounce. */
function storedWithClock(t: Test, behindS: number) {
  const { folder, db } = scratch(t);
  let nowMs = 0;
  const committer = new Committer(db, () => nowMs);
  const session_id = 'the id';
  for (let i = 0; i < 120; i++) {
    nowMs = Date.UTC(2026, 2, 28, 23, 30) + i * 1_000;
    const eot = (ms: number) => new Date(ms).toISOString();
    const sent = [
      event({
        ...{ session_id, type: 'BALL_HIT', source: 'cam', eot: eot(nowMs - 900) },
        payload: { shot_type: i % 2 ? 'lob' : 'smash' },
      }),
      event({
        ...{ session_id, type: 'BALL_BOUNCE', source: 'floor', eot: eot(nowMs - 400 - behindS * 1_000) },
        payload: { x_ft: i % 2 ? 5 : 15, y_ft: 30, is_in: i > 30 },
      }),
    ];
    committer.append(...court(...sent));
  }
  return { folder, session_id };
}

t.test('a clock that is wrong changes neither the time of a session nor whose landing it was', async (t) => {
  const { folder, session_id } = storedWithClock(t, 252);
  const { stdout } = await courtd(['report', session_id, '--data', folder], { TZ: 'UTC' });
  t.match(stdout, '<dt>Time</dt><dd><b>120 s</b><span>23:29:59 to 23:31:59</span>');
  t.match(
    stdout,
    '<dt>Wrong clocks</dt><dd>floor 4 min 12 s behind: their times are corrected on this page.</dd>',
  );
  t.match(stdout, 'aria-label="Where lob of Player not known landed: 45 in, 15 out"');
  t.match(stdout, 'aria-label="Where smash of Player not known landed: 44 in, 16 out"');
});

t.test(
  'times are local, of the day that they are on there; the title is the court and the day',
  async (t) => {
    const { folder, session_id } = storedWithClock(t, 0);
    const { stdout } = await courtd(['report', session_id, '--data', folder], { TZ: 'Europe/Berlin' });
    t.match(stdout, '<title>court-1 · 29 March 2026</title>');
    t.match(stdout, '<h1>court-1 · 29 March 2026</h1>\n<p>Session the id</p>');
    t.match(stdout, '<span>00:29:59 to 00:31:58</span>');
    t.match(stdout, 'Times are local: Europe/Berlin.');
    t.notMatch(stdout, 'Wrong clocks');
  },
);

t.test('in badminton the share in is told as what it is: of the shots that ended a rally', async (t) => {
  const { folder, session_id } = storedWithClock(t, 0);
  const page = async (...more: string[]) =>
    (await courtd(['report', session_id, '--data', folder, ...more])).stdout;
  const [badminton, tennis] = await Promise.all([
    page('--court-lines', 'badminton'),
    page('--court-lines', 'tennis', '--y-from', 'net'),
  ]);
  for (const text of [badminton, tennis]) t.match(text, '>74\u00a0% of 120</td>');
  t.match(badminton, 'A landing ends the rally');
  t.notMatch(tennis, 'ends the rally');
  t.match(badminton, '<dt>Rallies</dt><dd><b>120</b><span>mean length 1.0 shots</span>');
  t.match(tennis, '<dt>Rallies</dt><dd><b>32</b><span>mean length 3.8 shots</span>');
  t.match(tennis, ' y counts from the net, on either side of it');
  t.match(badminton, ' y from the near base line, which is at the bottom');
});

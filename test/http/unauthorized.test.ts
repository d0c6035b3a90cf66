import t from 'tap';
import { courtd, Daemon } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { answerOf } from '../harness/rawClient.ts';
import { serveAgain } from '../harness/servingAgain.ts';

runInProcess();
serveAgain();

/** The answer to a camera without a valid token, and the report to the operator. */

const rotate = async (daemon: Daemon, ...args: string[]) => {
  const { stdout } = await courtd(['token', 'rotate', '--data', daemon.data, ...args]);
  return stdout.trim();
};

t.test('the log has the reason of each 401, and all clients get the same answer', async (t) => {
  const daemon = await Daemon.start(t);
  const revoked = await rotate(daemon);
  const retired = await rotate(daemon);
  t.equal((await daemon.command('token', 'revoke', '2')).status, 0);
  await rotate(daemon, '--grace', '0');
  const when = '\\d{4}-\\d\\d-\\d\\dT[\\d:.]{12}Z$';
  const reasons = [
    [`Bearer ${daemon.token}`, `^token 1 expired at ${when}`],
    [`Bearer ${revoked}`, `^token 2 was revoked at ${when}`],
    [`Bearer ${retired}`, `^token 3 expired at ${when}`],
    ['Bearer wrong', '^unknown token$'],
    ['Basic wrong', '^malformed header$'],
  ] as const;
  const answers: Record<string, unknown>[] = [];
  for (const [Authorization] of reasons) {
    const answer = await answerOf(daemon.post(event(), { Authorization }));
    answers.push(JSON.parse(answer.body));
  }
  t.equal(new Set(answers.slice(0, 4).map(({ error }) => error)).size, 1);
  await daemon.stop();
  for (const [i, [, reason]] of reasons.entries()) {
    const line = daemon.log.find(({ request_id }) => request_id === answers[i]?.request_id);
    t.match(line, { code: 'unauthorized', client: '127.0.0.1', reason: new RegExp(reason) });
    t.notOk(JSON.stringify(answers[i]).includes('token 1'), 'the answer does not tell which');
  }
  for (const token of [daemon.token, revoked, retired]) t.notOk(JSON.stringify(daemon.log).includes(token));
});

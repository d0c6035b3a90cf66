import { setTimeout as wait } from 'node:timers/promises';
import t from 'tap';
import { Daemon } from '../harness/daemon.ts';
import { event, eventText } from '../harness/events.ts';
import { LARGE_BODIES, type LargeBody } from '../harness/largeBodies.ts';
import { answerOf } from '../harness/rawClient.ts';

const MIB = 1024 ** 2;
/** The memory of the daemon, while clients send large bodies. */
const MEMORY_MIB = 300;
const BODY_BYTES_MOST = 8 * MIB - 1000;
/** Two of each kind at the same time, which wait as Retry-After says. */
t.test('many large bodies are all answered, none half stored, while small ones pass', async (t) => {
  const daemon = await Daemon.start(t, ['--rate-limit', '0']);
  let areDone = false;
  const large = Object.entries<LargeBody>(LARGE_BODIES).flatMap(([what, kind]) =>
    [`${what}, 1`, `${what}, 2`].map((name) => ({ name, kind })),
  );
  const senders = large.map(async ({ name, kind: { body, headers, status } }) => {
    const bytes = body();
    for (;;) {
      const answer = await answerOf(daemon.post(bytes, headers));
      if (answer.status !== 503) return t.equal(answer.status, status, name);
      await wait(1000 * Number(answer.headers.get('retry-after')));
    }
  });
  const small = async () => {
    const statuses = new Map<number, number>();
    while (!areDone) {
      const { status } = await daemon.post(event({ session_id: 'small' }));
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    t.strictSame([...statuses.keys()], [202], 'small ones pass');
    return statuses.get(202);
  };
  const passing = small();
  await Promise.all(senders);
  areDone = true;
  t.equal((await daemon.exported('small')).length, await passing);
  t.equal((await daemon.exported('batch')).length, 1000);
  t.equal((await daemon.exported('single')).length, 8);
  t.equal((await daemon.command('export', 'bad')).status, 1, 'nothing of the bad ones is stored');
  t.ok(daemon.peakMib <= MEMORY_MIB, `${daemon.peakMib.toFixed(0)} MiB at the peak`);
});

/** Eight MiB of members whose names are all different. */
const members = (name: string, value: string) => {
  const length = name.length + value.length + '"12345":,'.length;
  const count = BODY_BYTES_MOST / length;
  return Array.from({ length: count }, (_, i) => `"${name}${(i + 36 ** 4).toString(36)}":${value}`).join();
};
/** So long that there are fewer than BODY_VALUES. */
const NAME = 'n'.repeat(26);
const NAMES: Readonly<Record<string, readonly [body: () => string, status: number]>> = {
  'unknown fields': [() => eventText({}).replace('{', `{${members(NAME, '0')},`), 202],
  'fields of the payload': [() => eventText({ payload: `{${members(NAME, '0')}}` }), 202],
  'names with a backslash': [() => eventText({ payload: `{${members('\\\\'.repeat(13), '0')}}` }), 202],
  'names deep inside': [() => eventText({ payload: `{"a":[{${members(NAME, '-0')}}]}` }), 202],
  'names of numbers that are too large': [() => eventText({ payload: `{${members(NAME, '1e400')}}` }), 400],
};

t.test('eight MiB of names of any kind take no more memory than any other body', async (t) => {
  const daemon = await Daemon.start(t);
  for (const [what, [body, status]] of Object.entries(NAMES)) {
    const answer = await answerOf(daemon.post(body()));
    t.equal(answer.status, status, `${what}: ${answer.body}`);
    t.ok(daemon.peakMib <= MEMORY_MIB, `${daemon.peakMib.toFixed(0)} MiB at the peak`);
  }
});

import fs from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { Parser } from '../../src/http/parser.ts';
import { PARSER_HEAP } from '../../src/protocol/limits.ts';
import { Problem } from '../../src/protocol/problems.ts';
import { eventText } from '../event.ts';

/** The thread of large bodies, with less memory and time than the daemon gives it: with that no body is known that fails. */

const MIB = 1024 ** 2;
const DATA = { rules: {}, bodyLimitBytes: 64 * MIB };

const BYTES = 60 * MIB;

const large = (member: string) => {
  const members = `${member},`.repeat(BYTES / (member.length + 1));
  return Buffer.from(eventText({ payload: `{"list":[${members}0]}` }));
};
const next = () => Buffer.from(eventText({ payload: `{"text":"${'x'.repeat(MIB / 2)}"}` }));

const CASES = {
  memory: { member: '{}', bounds: { heap: { ...PARSER_HEAP, baseMib: 48, perBodyByte: 0 } } },
  // No double can hold it: these take longest, half a minute where this was written.
  time: { member: '1e400', bounds: { seconds: { base: 4, perBodyMib: 0 } } },
} as const;

for (const what of ['memory', 'time'] as const) {
  t.test(`a body that takes more ${what} than there is: 413, and those that wait are read`, async (t) => {
    const { member, bounds } = CASES[what];
    // A busy machine takes its time.
    const parser = new Parser(DATA, { waitMs: 60_000, ...bounds });
    const refused = Promise.resolve(parser.parse('greedy', large(member), 'identity'));
    const others = ['one', 'two'].map(async (client) => parser.parse(client, next(), 'identity'));
    const problem = await refused.catch((error: unknown) => error);
    t.type(problem, Problem);
    t.match(problem, {
      code: 'body_too_large',
      message: new RegExp(`^Reading this body takes more ${what} than there is: send fewer or smaller`),
      members: { limit_bytes: DATA.bodyLimitBytes },
    });
    for (const { events } of await Promise.all(others)) t.equal(events.length, 1);
  });
}

t.test(
  'a thread that has no body for a while gives its memory back; the next one gets another',
  async (t) => {
    const parser = new Parser(DATA, { idleMs: 20 });
    const threads = () => fs.readdirSync('/proc/self/task').length;
    const before = threads();
    for (const _ of ['first', 'again']) {
      const parsed = parser.parse('one', next(), 'identity');
      t.ok(threads() > before, 'it is there');
      t.equal((await parsed).events.length, 1);
      while (threads() > before) await sleep(5);
    }
  },
);

t.test('a body that waits too long for the thread is refused, and may be sent again', async (t) => {
  const parser = new Parser(DATA, { waitMs: 1 });
  const first = parser.parse('one', large('0'), 'identity');
  const problem = await Promise.resolve(parser.parse('two', next(), 'identity')).catch(
    (error: unknown) => error,
  );
  t.match(problem, { code: 'overloaded', headers: { 'Retry-After': '8' } });
  t.equal((await first).events.length, 1, 'what it waited for is read');
  t.equal((await parser.parse('two', next(), 'identity')).events.length, 1, 'and so is it, sent again');
});

t.test('a body that cannot be handed to the thread fails alone', async (t) => {
  const parser = new Parser(DATA);
  const uncloneable = (() => {}) as never;
  await t.rejects(Promise.resolve(parser.parse('one', next(), uncloneable)), { name: 'DataCloneError' });
  t.equal((await parser.parse('one', next(), 'identity')).events.length, 1);
});

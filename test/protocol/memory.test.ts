import t from 'tap';
import { BODY_BYTES } from '../../src/base/limits.ts';
import { decodeBatch } from '../../src/protocol/decodeBatch.ts';
import { eventText } from '../harness/events.ts';
import { usedMib } from '../harness/memory.ts';
import { Committer, scratch } from '../harness/scratchStore.ts';

t.test('what the store remembers of a body does not keep the body', async (t) => {
  const committer = new Committer(scratch(t).db);
  const bodies = 12;
  const send = (i: number) => {
    const name = `a name that is long enough to be a part of the body: ${i}`;
    const text = eventText({}, { session_id: name, court_id: name, venue_id: name, source: name });
    committer.append(...decodeBatch(Buffer.from(text.padEnd(BODY_BYTES))));
  };
  send(bodies);
  const before = usedMib();
  for (let i = 0; i < bodies; i++) send(i);
  t.ok(usedMib() - before < 0.5 * bodies * (BODY_BYTES / 1024 ** 2));
});

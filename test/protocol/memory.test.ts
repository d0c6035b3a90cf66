import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import t from 'tap';
import { BODY_BYTES } from '../../src/base/limits.ts';
import { decodeBatch } from '../../src/protocol/decodeBatch.ts';
import { eventText } from '../harness/events.ts';
import { Committer, scratch } from '../harness/scratchStore.ts';

t.test('what the store remembers of a body does not keep the body', async (t) => {
  setFlagsFromString('--expose-gc');
  const gc: () => void = runInNewContext('gc');
  const committer = new Committer(scratch(t).db);
  const usedMib = () => {
    gc();
    const { heapUsed, external } = process.memoryUsage();
    return (heapUsed + external) / 1024 ** 2;
  };
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

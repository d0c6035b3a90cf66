import t from 'tap';
import { RefusalTable } from '../../src/telemetry/refusalTable.ts';
import { usedMib } from '../harness/memory.ts';

t.test('a name that is a slice of a body does not keep the body in memory', (t) => {
  const table = new RefusalTable();
  const bytes = Buffer.alloc(2 * 1024 ** 2, 'x');
  const before = usedMib();
  for (let i = 0; i < 50; i++) {
    bytes.write(`source-of-camera-${i} `);
    const body = bytes.toString('latin1');
    const [source, court_id, error] = [body.slice(0, 20), body.slice(20, 40), body.slice(40, 80)];
    table.add({ code: 'invalid_event', client: '10.0.0.1', source, court_id, error }, i);
  }
  const grown = usedMib() - before;
  t.ok(grown < 50, `${grown} MiB`);
  t.equal(table.report(50, 0, () => undefined).length, 50);
  t.end();
});

import path from 'node:path';
import Database from 'better-sqlite3';
import t from 'tap';
import { DataDirectory } from '../../../src/base/dataDirectory.ts';
import { SCHEMA_VERSION } from '../../../src/store/layout/schema.ts';
import { countConflicts, readConflicts } from '../../../src/store/read/conflicts.ts';
import { Store } from '../../../src/store/store.ts';
import { temporaryFolder } from '../../harness/daemon.ts';
import { event, events } from '../../harness/events.ts';
import { makeNewer } from '../../harness/newerCourtd.ts';
import { court, keyState, recorder } from '../../harness/scratchStore.ts';

t.test(
  'a database of an older layout: what it holds and has counted stays, and what comes is kept',
  async (t) => {
    const newer = path.join(temporaryFolder(t), 'newer');
    makeNewer(newer);
    const upgraded: typeof Store = (await import(path.join(newer, 'src/store/store.ts'))).Store;
    const folder = temporaryFolder(t);
    const sent = court(...events(20), event({ revision: 2 ** 53 - 1 }));
    const first = await Store.open(new DataDirectory(folder), recorder().on);
    await first.append(sent);
    await first.append([{ ...sent[0]!, confidence: 0.5 }]);
    await first.close();

    const { on, told } = recorder();
    const store = await upgraded.open(new DataDirectory(folder), on);
    t.ok(told.includes('upgraded'));
    t.match(await store.append(sent), { accepted: 0, duplicates: sent.length, conflicts: 0 });
    t.match(await store.append([{ ...sent[1]!, confidence: 0.5 }]), { duplicates: 1, conflicts: 1 });
    t.match(await store.append(court(event())), { accepted: 1 });
    await store.close();

    const db = new Database(path.join(folder, 'courtd.db'), { readonly: true });
    t.teardown(() => db.close());
    t.equal(db.pragma('user_version', { simple: true }), SCHEMA_VERSION + 1);
    t.match(keyState(db), { events: sent.length + 1, unknown: 0, astray: 0 });
    t.equal(countConflicts(db), 2);
    t.match([...readConflicts(db)].flat(), [{ other: /"confidence":0.5/ }, { other: /"confidence":0.5/ }]);
  },
);

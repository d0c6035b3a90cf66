import t from 'tap';
import { DataDirectory } from '../../../src/base/dataDirectory.ts';
import { openLog } from '../../../src/fleet/ship/boxLog.ts';
import { decodeBatch } from '../../../src/protocol/decodeBatch.ts';
import { openDatabase } from '../../../src/store/db/openDatabase.ts';
import { type Cleanup, temporaryFolder } from '../../harness/daemon.ts';
import { event, eventText } from '../../harness/events.ts';
import { runInProcess } from '../../harness/inProcess.ts';
import { localFeed } from '../../harness/localFeed.ts';
import { Committer } from '../../harness/scratchStore.ts';
import { Box } from './box.ts';

runInProcess();

/** COURTD_SHIP_PLAYERS=pseudonym. */

const IDS = ['anna-17', 'p-2', 'Zoë "Z" 🎾'];
const hit = (player_id: string, more: object = {}) =>
  event({ type: 'BALL_HIT', payload: { player_id, ...more } });

function boxOf(t: Cleanup): Box {
  return new Box(t, temporaryFolder(t), {
    COURTD_SHIP_URL: 'tls://hq.example.org',
    COURTD_SHIP_BOX: 'venue-7',
  });
}

/** What leaves a box: by a new feed, as after a kill. */
async function stream({ data }: Box, after = 0): Promise<string[]> {
  const log = await openLog(localFeed(new DataDirectory(data), { players: 'pseudonym' }));
  const shipped: string[] = [];
  for await (const { lines, isLast } of log.pieces(after)) {
    shipped.push(...lines);
    if (isLast) break;
  }
  log.close();
  return shipped;
}

const eventsOf = (lines: readonly string[]) => lines.map((line) => JSON.parse(line).event);

t.test('each player has one pseudonym in all sessions, and never the id that cameras send', async (t) => {
  const box = boxOf(t);
  const [anna, p2, zoe] = IDS as [string, string, string];
  box.put(
    hit(anna, { shot_type: 'drive', opponent: p2, [zoe]: 1 }),
    event({
      session_id: 's-2',
      type: 'PLAYER_POSITION',
      payload: { player_id: anna, x_ft: 1.5 },
      crew: { near: [p2, { far: anna }] },
    }),
    event({
      type: 'PLAYER_IDENTITY',
      payload: { player_id: zoe, name: 'Zoë', born: 2014 },
      photo: 'zoe.jpg',
    }),
    event({ payload: { x_ft: 1, pair: [{ player_id: p2 }], note: `of ${anna}` } }),
    event({ event_id: anna }),
  );
  const db = openDatabase(new DataDirectory(box.data));
  const numbered = eventText(
    { payload: '{"player\\u005fid":1234567890123456789012,"kmh":1.50}' },
    { type: 'BALL_HIT' },
  );
  new Committer(db).append(...decodeBatch(Buffer.from(numbered)));
  db.close();
  const lines = await stream(box);
  const [drive, position, identity, pair, own, number] = eventsOf(lines);
  const [a, b, z] = [drive.payload.player_id, drive.payload.opponent, identity.payload.player_id];
  t.equal(new Set([a, b, z]).size, 3);
  for (const name of [a, b, z]) t.match(name, /^player-[a-z0-9]{16}$/);
  t.strictSame(drive.payload, { player_id: a, shot_type: 'drive', opponent: b, [z]: 1 });
  t.match(position, {
    session_id: 's-2',
    payload: { player_id: a, x_ft: 1.5 },
    crew: { near: [b, { far: a }] },
  });
  t.strictSame(
    [identity.payload, 'photo' in identity],
    [{ player_id: z }, false],
    'an identity says no more',
  );
  t.strictSame(
    pair.payload,
    { x_ft: 1, pair: [{ player_id: b }], note: `of ${anna}` },
    'where it is a value',
  );
  t.equal(own.event_id, anna);
  t.match(lines.at(-1), /"payload":\{"player\\u005fid":"player-\w{16}","kmh":1\.50\}/);
  t.match(number.payload.player_id, /^player-/);
  t.strictSame(await stream(box), lines, 'the same bytes after a kill');
  t.match((await box.lines()).join(''), /"opponent":"p-2"/, 'the box has them as they were sent');
});

t.test('an erased player has no pseudonym, and a player from before the feed has one', async (t) => {
  const box = boxOf(t);
  box.put(hit('anna-17', { opponent: 'p-2' }), hit('p-2'));
  const [, second] = eventsOf(await stream(box));
  t.match(await box.erase('anna-17'), { status: 0 });
  box.put(event({ payload: { nearest: 'p-2' } }));
  const lines = await stream(box, 2);
  t.strictSame(eventsOf(lines)[0].payload, { nearest: second.payload.player_id });
  const [erased] = await stream(box);
  t.match(erased, /"erased":true,"event":\{.*"player_id":"erased-\w{8}","opponent":"player-/);
});

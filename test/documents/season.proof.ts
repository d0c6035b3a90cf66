import fs from 'node:fs';
import path from 'node:path';
import t, { type Test } from 'tap';
import { DataDirectory } from '../../src/base/dataDirectory.ts';
import { SessionTally } from '../../src/session/analysis/sessionTally.ts';
import { openDatabase } from '../../src/store/open/openDatabase.ts';
import { readSession } from '../../src/store/read/sessionReader.ts';
import { sessionId } from '../../src/store/read/sessions.ts';
import { courtd, temporaryFolder } from '../harness/daemon.ts';
import { blocks, OPERATOR_GUIDE } from '../harness/documents.ts';
import { askDuckDb } from '../harness/duckdb.ts';
import { event } from '../harness/events.ts';

/** A match each month: a seed of the simulator, and the day that it is moved to. */
const MATCHES = { 1: '2026-03-14', 2: '2026-04-11', 3: '2026-05-09' };
const [ODD, ODD_DAY] = ['odd', '2026-06-13'];
const PLAYER = 'player-a';
const OTHER = 'player-b';

/** A match of what a camera rarely sends: two hits of one time, whichever of them came first, and a second bounce. */
function oddMatch(day: string): string {
  const rallies = Array.from({ length: 20 }, (_, rally) => {
    const sent = (type: string, s: number, payload: object) => {
      const eot = new Date(Date.parse(`${day}T15:00:00Z`) + (20 * rally + s) * 1_000).toISOString();
      return event({ session_id: ODD, type, eot, payload });
    };
    const [first, second] = rally % 2 ? [PLAYER, OTHER] : [OTHER, PLAYER];
    return [
      sent('BALL_HIT', 0, { player_id: first, shot_type: 'serve' }),
      sent('BALL_BOUNCE', 0.5, { x_ft: 3, y_ft: 30 + rally / 10, is_in: true }),
      sent('BALL_HIT', 1, { player_id: first, shot_type: 'drive' }),
      sent('BALL_HIT', 1, { player_id: second, shot_type: 'drive' }),
      sent('BALL_SPEED', 1.1, { kmh: 50 + rally }),
      sent('BALL_BOUNCE', 1.6, { x_ft: 3, y_ft: 10, is_in: rally % 3 > 0 }),
      sent('BALL_BOUNCE', 2, { x_ft: 3, y_ft: 12, is_in: true }),
      sent('BALL_HIT', 3, { player_id: second, shot_type: 'lob' }),
    ];
  });
  return rallies
    .flat()
    .map((sent) => `${JSON.stringify(sent)}\n`)
    .join('');
}

/** Simulated matches, and the odd one, in a lake. @returns its folder, and what a report counts in each of them. */
async function season(t: Test): Promise<{ folder: string; matches: { day: string; tally: SessionTally }[] }> {
  const folder = temporaryFolder(t);
  const [data, events] = ['data', 'events.ndjson'].map((name) => path.join(folder, name)) as [string, string];
  const run = async (...args: string[]) => {
    const { status, stdout, stderr } = await courtd([...args, '--data', data]);
    if (status !== 0) throw new Error(stderr);
    return stdout;
  };
  await run('token', 'rotate');
  for (const [seed, day] of Object.entries(MATCHES)) {
    const printed = await run('simulate', '--clean', '--courts', '1', '--seed', seed, '--print', '8000');
    fs.writeFileSync(events, printed.replaceAll('2026-03-14T', `${day}T`));
    await run('import', events);
  }
  fs.writeFileSync(events, oddMatch(ODD_DAY));
  await run('import', events);
  await run('export', '--all', '--format', 'parquet', '-o', `${folder}/lake/`);
  const db = openDatabase(new DataDirectory(data), {});
  const days = Object.entries(MATCHES).map(([seed, day]) => [`sim-${seed}-sample-court-1`, day] as const);
  const matches = [...days, [ODD, ODD_DAY] as const].map(([session, day]) => {
    const tally = new SessionTally({ lines: 'pickleball' });
    for (const { events } of readSession(db, sessionId(db, session))) {
      for (const event of events) tally.add(event);
    }
    tally.end();
    return { day, tally };
  });
  db.close();
  return { folder, matches };
}

t.test("the guide's SQL finds in a season what the reports of its sessions say", async (t) => {
  const { folder, matches } = await season(t);
  const [views, ...queries] = blocks(OPERATOR_GUIDE, 'sql').map((sql) =>
    sql.replace("'lake/", `'${folder}/lake/`),
  );
  t.equal(queries.length, 4);
  const answers = await Promise.all(queries.map((query) => askDuckDb(`${views}\n${query}`)));
  const [depths, lengths, shares, days] = answers.map((rows) =>
    rows.map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plain(value)]))),
  ) as Record<string, string | number>[][];

  const strokes = (tally: SessionTally, player = PLAYER) => tally.players.of(player).strokes.entries();
  const served = matches.flatMap(({ day, tally }) =>
    [PLAYER, OTHER].map((player) => {
      const [, serve] = strokes(tally, player).find(([shot]) => shot === 'serve')!;
      const inside = serve.landings.points!.filter(({ verdict }) => verdict === 'in');
      const depth = inside.reduce((sum, { y }) => sum + Math.abs(y - 22), 0) / inside.length;
      return { player_id: player, month: `${day.slice(0, 7)}-01`, serves: inside.length, depth_ft: depth };
    }),
  );
  t.strictSame(rounded(depths!), rounded(served.sort((a, b) => (a.player_id < b.player_id ? -1 : 1))));

  t.strictSame(
    rounded(lengths!.map(({ session_id: _, ...row }) => row)),
    rounded(
      matches.map(({ day, tally: { rallyLengths, longestRally } }) => {
        const hits = rallyLengths.entries().reduce((sum, [length, times]) => sum + length * times, 0);
        const rallies = rallyLengths.total;
        return { day, rallies, mean: hits / rallies, longest: longestRally!.hits };
      }),
    ),
  );

  const byShot = new Map<string, { shots: number; in: number; judged: number }>();
  for (const [shot, { hits, landings }] of matches.flatMap(({ tally }) => strokes(tally))) {
    const sum = byShot.get(shot) ?? { shots: 0, in: 0, judged: 0 };
    const { counts } = landings;
    byShot.set(shot, {
      shots: sum.shots + hits,
      in: sum.in + counts.in,
      judged: sum.judged + counts.in + counts.out,
    });
  }
  const byName = (a: { shot_type?: unknown }, b: { shot_type?: unknown }) =>
    String(a.shot_type) < String(b.shot_type) ? -1 : 1;
  t.strictSame(
    rounded(shares!.sort(byName)),
    rounded(
      [...byShot]
        .map(([shot_type, sum]) => ({
          shot_type,
          shots: sum.shots,
          judged: sum.judged,
          share_in: sum.in / sum.judged,
        }))
        .sort(byName),
    ),
  );

  t.strictSame(
    rounded(days!),
    rounded(
      matches.map(({ day, tally }) => {
        const player = tally.players.of(PLAYER);
        const speeds = player.speeds(tally.rallies.areSpeedsAtHits);
        const { counts } = player.landings;
        return {
          day,
          shots: player.hits,
          share_in: counts.in / (counts.in + counts.out),
          median_kmh: speeds.quantile(0.5)!,
          fastest: speeds.quantile(1)!,
        };
      }),
    ),
  );
});

/** DuckDB writes 64-bit numbers as text. */
function plain(value: unknown): string | number {
  return /^\d+$/.test(String(value)) ? Number(value) : (value as string | number);
}

function rounded(rows: readonly object[]): object[] {
  return rows.map((row) =>
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => [
        name,
        typeof value === 'number' ? Math.round(value * 1e6) / 1e6 : value,
      ]),
    ),
  );
}

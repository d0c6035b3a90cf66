import { hash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import t, { type Test } from 'tap';
import { reportOf } from '../../src/session/report/report.ts';
import { sessionId } from '../../src/store/read/sessions.ts';
import { courtd } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { Committer, court, scratch } from '../harness/scratchStore.ts';

runInProcess();

const HOSTILE = `<script>alert(1)</script>"'><img src=x onerror=alert(2)>&\u202e`;
const EMPTY = 'nothing but an identity';
/** In the order that every report has. */
const SECTIONS = ['summary', 'rallies', 'player-1', 'method', 'rate', 'confidence', 'technician'];

/** A session whose every text is hostile, and one of a single event. */
function stored(t: Test) {
  const { folder, db } = scratch(t);
  const committer = new Committer(db);
  const shots = [HOSTILE, 'lob', 'x'.repeat(5_000)];
  let at = Date.UTC(2026, 2, 14, 15);
  for (const shot_type of shots) {
    const common = { session_id: HOSTILE, court_id: HOSTILE, venue_id: HOSTILE, source: HOSTILE };
    const send = (type: string, payload: object, more: object = {}) => {
      at += 500;
      const sent = event({
        ...common,
        type,
        payload,
        eot: new Date(at).toISOString(),
        event_id: `${HOSTILE}${at}`,
        ...more,
      });
      committer.append(...court(sent, { ...sent, revision: 1, confidence: 1 }));
    };
    send('BALL_HIT', { shot_type, player_id: HOSTILE });
    send('BALL_BOUNCE', { x_ft: 3, y_ft: 30, is_in: true });
    send('BALL_HIT', { shot_type });
    send('BALL_BOUNCE', { x_ft: 31.5, y_ft: 60.25, is_in: false });
    send('BALL_SPEED', { kmh: 72.5 });
    send('PLAYER_POSITION', { x_ft: 9, y_ft: 12, player_id: HOSTILE });
  }
  committer.append(
    ...court(event({ session_id: EMPTY, type: 'PLAYER_IDENTITY', payload: { player_id: 'p' } })),
  );
  return { folder, page: (name: string) => reportOf(db, sessionId(db, name), { lines: 'pickleball' }) };
}

t.test('the report is one page that loads nothing, runs nothing and takes no text for markup', async (t) => {
  const { page } = stored(t);
  const text = page(HOSTILE);
  const tags = text.match(/<[a-zA-Z!/][^>]*>/g) ?? [];
  t.notMatch(text, /<script|<img|<iframe|<link|<object|javascript:/i);
  const loads = /\s(?:src|href|style|on\w+|action|srcset|xlink:href)\s*=/i;
  t.ok(tags.length > 500, `${tags.length} tags`);
  t.strictSame(
    tags.filter((tag) => loads.test(tag.replace(/"[^"]*"/g, '""')) || /url\(/.test(tag)),
    [],
  );
  const [, style] = /<style>([^<]*)<\/style>/.exec(text)!;
  t.notMatch(style, /url\(|@import/);
  const [, policy] = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(text)!;
  t.match(policy, "default-src 'none'; ");
  t.match(policy, `style-src 'sha256-${hash('sha256', style!, 'base64')}';`);
  t.notMatch(policy, 'unsafe');
  t.match(text, '&lt;script&gt;alert(1)&lt;/script&gt;');
  t.notMatch(text, '\u202e');
  t.notMatch(text, 'x'.repeat(41));
  t.match(text, /\n<h1>[^\n]* · 14 March 2026<\/h1>\n<p>Session [^\n]*\\u202e<\/p>\n/);
});

t.test('a session of which a player was erased says so, and what is missing for it', async (t) => {
  const { folder: data, db } = scratch(t);
  const named = (type: string, i: number) =>
    event({
      session_id: 's',
      event_id: `${type}-${i}`,
      type,
      payload: { player_id: 'anna-17', x_ft: 1, y_ft: 2 },
    });
  const sent = Array.from({ length: 5 }, (_, i) => named('PLAYER_POSITION', i));
  const nowhere = event({ session_id: 's', type: 'PLAYER_POSITION', payload: { player_id: 'bea' } });
  new Committer(db).append(...court(...sent, named('BALL_HIT', 0), nowhere));
  db.close();
  const report = async () => (await courtd(['report', 's', '--data', data])).stdout;
  t.notMatch(await report(), /erased/);
  t.match(await courtd(['player', 'erase', 'anna-17', '--yes', '--data', data]), { status: 0 });
  const page = await report();
  t.match(
    page,
    /<dt>Erased<\/dt><dd>Who was erased from this session has a random name, “erased-…”, and 5 positions say nothing any more\.</,
  );
  t.match(page, /<dt>Left out<\/dt><dd>1 position without x_ft or y_ft\.</);
});

t.test('sections stand in one order, also where there is nothing to show in them', async (t) => {
  const { page } = stored(t);
  for (const name of [HOSTILE, EMPTY]) {
    const sections = [...page(name).matchAll(/<section id="([\w-]+)"/g)].map(([, id]) => id);
    // The hostile session has hits that name no player.
    const second = name === HOSTILE ? ['player-2'] : [];
    t.strictSame(sections, [...SECTIONS.slice(0, 3), ...second, ...SECTIONS.slice(3)]);
  }
  const text = page(EMPTY);
  for (const sentence of [
    'No hits in this session.',
    'No hits, landings, speeds or positions of this player.',
    'No event of this session was revised.',
  ]) {
    t.match(text, sentence);
  }
});

t.test('a player is whom any hit, position or identity names, and one is not "1 players"', async (t) => {
  const { page } = stored(t);
  const text = page(EMPTY);
  t.match(text, '<div><dt>Shots</dt><dd><b>0</b><span>1 player</span></dd></div>');
  t.match(text, '<h2 id="player-1-heading">p</h2>');
  t.match(text, / from 1 stored event of this session\./);
  t.match(page(HOSTILE), '<span>1 player</span>');
});

t.test('players whose long names differ at the end only can be told apart', async (t) => {
  const { db } = scratch(t);
  const club = 'https://club.example/members/of/the/first/team/player-';
  const hits = [1, 2].map((n) => event({ type: 'BALL_HIT', payload: { player_id: `${club}${n}` } }));
  new Committer(db).append(...court(...hits));
  const text = reportOf(db, sessionId(db, 'session-1'), { lines: 'pickleball' });
  const headings = [...text.matchAll(/<h2 id="player-[^>]*>(.*?)<\/h2>/g)].map(([, name]) => name!);
  t.strictSame(
    headings.map((name) => [name.length, name.slice(-8)]),
    [
      [40, 'player-1'],
      [40, 'player-2'],
    ],
  );
});

t.test('shots of badminton on another court are told, with the option that may be missing', async (t) => {
  const { db } = scratch(t);
  const committer = new Committer(db);
  const page = (shot_type: string, lines: 'badminton' | 'pickleball') => {
    committer.append(...court(event({ session_id: shot_type, type: 'BALL_HIT', payload: { shot_type } })));
    return reportOf(db, sessionId(db, shot_type), { lines });
  };
  t.match(
    page('Net_shot', 'pickleball'),
    '<dt>Court lines</dt><dd>“Net shot” is a shot of badminton. If it was played, “courtd report --court-lines badminton”',
  );
  t.notMatch(page('Net_shot', 'badminton'), '<dt>Court lines');
  t.notMatch(page('drive', 'pickleball'), '<dt>Court lines');
});

t.test('a ball is a shuttle where badminton is played', async (t) => {
  const { db } = scratch(t);
  const sent = ['BALL_HIT', 'BALL_SPEED', 'BALL_BOUNCE', 'BALL_BOUNCE'].map((type, i) =>
    event({ type, eot: `2026-03-14T15:00:0${i}Z`, payload: { kmh: 50, x_ft: 1, y_ft: 1 } }),
  );
  new Committer(db).append(...court(...sent));
  const page = (lines: 'badminton' | 'tennis') => reportOf(db, sessionId(db, 'session-1'), { lines });
  const [badminton, tennis] = [page('badminton'), page('tennis')];
  t.match(tennis, '<b>Ball speed</b>');
  t.match(badminton, '<b>Shuttle speed</b>');
  t.notMatch(badminton, /\bballs?\b/i);
});

t.test('every figure has a name, and a landing outside the maps is listed where it was', async (t) => {
  const { page } = stored(t);
  const text = page(HOSTILE);
  const figures = text.match(/<svg [^>]*>/g) ?? [];
  t.ok(figures.length >= 3 + 3 + 1 + 4 + 1, `${figures.length} figures`);
  t.strictSame(
    figures.filter((svg) => !/^<svg role="img" aria-label="[^"]{10,}"/.test(svg)),
    [],
  );
  t.match(text, '3 landings beyond x -5 to 25 ft or y -5 to 49 ft.');
  const [, list = ''] = /<h3>Outside of the maps<\/h3>([\s\S]*?)<\/table>/.exec(text) ?? [];
  t.match(list, />31\.5<\/td>.*>60\.25<\/td>/);
  const marks = [
    ...text.matchAll(/aria-label="Where lob of [^"]* landed: (\d in, \d out)"([\s\S]*?)<\/svg>/g),
  ].map(([, told, svg]) => [told, svg?.match(/<circle |<path /g)?.length]);
  t.strictSame(
    marks,
    [
      ['1 in, 0 out', 1],
      ['0 in, 1 out', undefined],
    ],
    'what is not on the map is not drawn at its edge',
  );
});

t.test('a ball that bounces on after its landing makes no player, no share and no mark', async (t) => {
  const { db } = scratch(t);
  const at = (s: number, type: string, payload: object) =>
    event({ session_id: 's', type, eot: new Date(Date.UTC(2026, 2, 14, 15, 0, s)).toISOString(), payload });
  const sent = [
    at(1, 'BALL_HIT', { player_id: 'Ann', shot_type: 'serve' }),
    ...[2, 3, 4].map((s) => at(s, 'BALL_BOUNCE', { x_ft: 3, y_ft: 30 + s, is_in: s < 3 })),
  ];
  new Committer(db).append(...court(...sent));
  const page = reportOf(db, sessionId(db, 's'), { lines: 'pickleball' });
  t.notMatch(page, '<h2 id="player-2-heading">');
  t.match(page, /<th scope="row">Ann<\/th>.*>100\u00a0% of 1</);
  t.match(page, '<dt>Left out</dt><dd>2 further bounces of a ball that had landed.<');
  t.match(page, 'Every landing stayed preliminary');
});

t.test('the page says how a distance is counted, and promises nothing of it', async (t) => {
  const text = stored(t).page(HOSTILE);
  const [, how = ''] = /<dt>Distance run<\/dt><dd>(.*?)<\/dd>/.exec(text) ?? [];
  t.match(how, 'A way counts once it is 1.5 ft long');
  t.match(how, 'more than 1.5 ft and 12 m/s');
  t.notMatch(how, 'the least');
});

t.test(
  'the page says of how much of the session a distance is, where positions came for less of it',
  async (t) => {
    const { db } = scratch(t);
    const at = (s: number, type: string, payload: object) =>
      event({
        session_id: 's',
        type,
        eot: new Date(Date.UTC(2026, 2, 14, 15) + s * 1_000).toISOString(),
        payload,
      });
    const seen = (player_id: string, toS: number) =>
      Array.from({ length: toS / 3 + 1 }, (_, i) =>
        at(3 * i, 'PLAYER_POSITION', { player_id, x_ft: i % 9, y_ft: 9 }),
      );
    new Committer(db).append(...court(...seen('Ann', 300), ...seen('Ben', 45), ...seen('Cleo', 0)));
    const page = reportOf(db, sessionId(db, 's'), { lines: 'pickleball' });
    t.match(
      page,
      'The session took 5 min, and the distance run is of the part in which positions came: Ben 45 s.',
    );
    t.match(page, /<th scope="row">Cleo<.*data-heading="distance run">–</);
    t.match(page, 'No hits of this player.');
    t.notMatch(page, '<tbody></tbody>');
  },
);

t.test('how the page counts is said of what the session has, and of nothing else', async (t) => {
  const { db } = scratch(t);
  const committer = new Committer(db);
  const said = (...types: string[]) => {
    const session_id = types.join();
    const sent = types.map((type, i) =>
      event({
        session_id,
        type: type.split('@')[0],
        eot: `2026-03-14T15:00:0${type.split('@')[1] ?? i}Z`,
        payload: { kmh: 50, x_ft: 1, y_ft: 1 },
      }),
    );
    committer.append(...court(...sent));
    const page = reportOf(db, sessionId(db, session_id), { lines: 'pickleball' });
    const [, method = ''] = /<section id="method"([\s\S]*?)<\/section>/.exec(page) ?? [];
    return [...method.matchAll(/<dt>(.*?)<\/dt>/g)]
      .map(([, what]) => what)
      .concat(/A speed of the same time/.test(method) ? 'same time' : []);
  };
  t.strictSame(said('BALL_HIT'), ['Whose shot']);
  t.strictSame(said('BALL_HIT', 'BALL_SPEED'), ['Whose shot', 'Speeds']);
  t.strictSame(said('BALL_HIT@3', 'BALL_SPEED@3'), ['Whose shot', 'Speeds', 'same time']);
  t.strictSame(said('BALL_BOUNCE'), ['Whose shot', 'Maps']);
  t.strictSame(said('PLAYER_POSITION'), ['Whose shot', 'Distance run', 'Maps']);
});

t.test('the page warns of speeds a moment before a hit, unless they are few', async (t) => {
  const { db } = scratch(t);
  const committer = new Committer(db);
  const page = (session_id: string, earlyMs: (i: number) => number) => {
    const sent = Array.from({ length: 10 }, (_, i) => {
      const ms = Date.UTC(2026, 2, 14, 15) + i * 1_000;
      const at = (ms: number) => ({ session_id, eot: new Date(ms).toISOString() });
      return [
        event({ ...at(ms), type: 'BALL_HIT', payload: { player_id: i % 2 ? 'Ann' : 'Ben' } }),
        event({ ...at(ms - earlyMs(i)), type: 'BALL_SPEED', payload: { kmh: 50 } }),
      ];
    });
    committer.append(...court(...sent.flat()));
    return reportOf(db, sessionId(db, session_id), { lines: 'pickleball' });
  };
  // Before the first hit there is none to take it for.
  const early = page('early', () => 3);
  const told = '9 of 10 speeds come at most 50 ms before a hit, and count for the hit before it';
  t.match(early, new RegExp(`<dt>Speeds</dt><dd>${told}`));
  t.match(early, new RegExp(`<section id="technician"[^]*${told}`));
  t.notMatch(
    page('late', (i) => (i < 2 ? 3 : -3)),
    'ms before a hit',
  );
});

t.test(
  'from the command line: to a file, to standard output, and a sentence where there is no such session',
  async (t) => {
    const { folder, page } = stored(t);
    const file = path.join(folder, 'report.html');
    const report = (...args: string[]) => courtd(['report', ...args, '--data', folder]);
    const [written, printed, none, wrong, side] = await Promise.all([
      report(EMPTY, '-o', file),
      report(EMPTY, '--court-lines', 'none'),
      report('match-18'),
      report(EMPTY, '--court-lines', 'squash'),
      report(EMPTY, '--y-from', 'left'),
    ]);
    t.match(written, { status: 0, stdout: '', stderr: `Report written to ${file}.\n` });
    const body = (html: string) => html.replace(/courtd [\d.]+ from/, '');
    t.equal(body(fs.readFileSync(file, 'utf8')), body(page(EMPTY)));
    t.match(printed, { status: 0, stderr: '', stdout: /^<!doctype html>[\s\S]*<\/html>\n$/ });
    t.match(none, {
      status: 1,
      stdout: '',
      stderr: 'There is no session "match-18": "courtd session list" shows them.',
    });
    t.match(side, { status: 2, stderr: 'Allowed choices are base, net.' });
    t.match(wrong, { status: 2, stderr: 'Allowed choices are pickleball, badminton, tennis, padel, none.' });
  },
);

t.test(
  'the page lists the landings that stayed preliminary, unless no landing was ever revised',
  async (t) => {
    const { db } = scratch(t);
    const committer = new Committer(db);
    const left = event({
      session_id: 'revised',
      event_id: 'left',
      payload: { x_ft: 4.25, y_ft: 7, is_in: false },
    });
    const right = event({ session_id: 'revised', event_id: 'right' });
    const never = event({ session_id: 'never' });
    committer.append(...court(left, right, { ...right, revision: 1 }, never));
    const page = (name: string) => reportOf(db, sessionId(db, name), { lines: 'pickleball' });
    t.match(page('revised'), '1 of 2 landings stayed preliminary');
    const [, list = ''] = /<h3>Preliminary<\/h3>([\s\S]*?)<\/table>/.exec(page('revised')) ?? [];
    t.match(list, />4\.25<\/td>.*>out<\/td><td[^>]*>left<\/td>/);
    t.notMatch(list, 'right');
    t.match(page('never'), 'Every landing stayed preliminary');
    t.notMatch(page('never'), '<h3>Preliminary');
  },
);

import { hash } from 'node:crypto';
import t, { type Test } from 'tap';
import { reportOf } from '../../src/session/report/reportPage.ts';
import { Damage } from '../../src/store/read/damage.ts';
import { sessionId } from '../../src/store/read/sessions.ts';
import { courtd } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { Committer, court, scratch } from '../harness/scratchStore.ts';

runInProcess();

const HOSTILE = `<script>alert(1)</script>"'><img src=x onerror=alert(2)>&\u202e`;
const EMPTY = 'nothing but an identity';
/** In the order that every report has. */
const SECTIONS = ['summary', 'rallies', 'player-1', 'method'];

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
  return { folder, page: (name: string) => reportOf(db, sessionId(db, name), 'pickleball', new Damage()) };
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

t.test('the sections of a report have one order, also if they are empty', async (t) => {
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
  ]) {
    t.match(text, sentence);
  }
});

t.test('every figure has a name, and a landing beyond the map is counted and not drawn', async (t) => {
  const { page } = stored(t);
  const text = page(HOSTILE);
  const figures = text.match(/<svg [^>]*>/g) ?? [];
  t.ok(figures.length >= 2 + 3 + 3 + 1, `${figures.length} figures`);
  t.strictSame(
    figures.filter((svg) => !/^<svg role="img" aria-label="[^"]{10,}"/.test(svg)),
    [],
  );
  const marks = [
    ...text.matchAll(/aria-label="Where lob of [^"]* landed: (\d in, \d out)[^"]*"([\s\S]*?)<\/svg>/g),
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

/** A session of two minutes in the night in which clocks go forward in Berlin: a hit each second, and its bounce. */
function twoMinutes(t: Test): string {
  const { folder, db } = scratch(t);
  const sent = Array.from({ length: 120 }, (_, i) => {
    const eot = (ms: number) => new Date(Date.UTC(2026, 2, 28, 23, 30) + i * 1_000 - ms).toISOString();
    const payload = { x_ft: i % 2 ? 5 : 15, y_ft: 30, is_in: i > 30 };
    return [
      event({ type: 'BALL_HIT', eot: eot(900), payload: { shot_type: i % 2 ? 'lob' : 'smash' } }),
      event({ eot: eot(400), payload }),
    ];
  });
  const first = [12, 13, 14].map((s) => event({ type: 'BALL_HIT', eot: `1970-01-01T00:00:${s}Z` }));
  new Committer(db).append(...court(...first, ...sent.flat()));
  return folder;
}

t.test('events more than a day from the median are left out and counted; times are local', async (t) => {
  const folder = twoMinutes(t);
  const { stdout } = await courtd(['report', 'session-1', '--data', folder], { TZ: 'Europe/Berlin' });
  t.match(stdout, '<title>court-1 · 29 March 2026</title>');
  t.match(stdout, /<dt>Time<\/dt><dd><b>[^<]+<\/b><span>00:29:59 to 00:31:58</);
  t.match(stdout, /<dt>Odd times<\/dt><dd>3 events /);
  t.match(stdout, 'Times are local: Europe/Berlin.');
  t.match(stdout, 'aria-label="Where lob of Player not known landed: 45 in, 15 out"');
  t.match(stdout, 'aria-label="Where smash of Player not known landed: 44 in, 16 out"');
});

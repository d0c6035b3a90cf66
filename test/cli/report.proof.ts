import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Browser, chromium, type Page } from 'playwright-core';
import t from 'tap';
import type { CourtName } from '../../src/protocol/courtLines.ts';
import type { EventType } from '../../src/protocol/eventTypes.ts';
import { SessionTally } from '../../src/session/analysis/sessionTally.ts';
import { pageOf } from '../../src/session/report/reportPage.ts';
import { Random } from '../../src/vendor/simulate/random.ts';
import { type Cleanup, temporaryFolder } from '../harness/daemon.ts';
import { missingPrograms } from '../harness/needs.ts';
import { reader } from '../harness/readEvents.ts';

/** Why no browser can be started here: what `skip` of a test takes. */
const skip = missingPrograms({ chromium: 'chromium' }) ?? false;

/** A machine that is busy with other tests takes its time. */
const PATIENCE_MS = 300_000;

/** Debian's chromium, headless, with a profile of its own, which is removed with it. */
async function launch(t: Cleanup): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    timeout: PATIENCE_MS,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--disable-background-networking',
      '--disable-component-update',
    ],
  });
  t.teardown(() => browser.close());
  return browser;
}

/** Opens a page in a window, and keeps whatever the browser complains of: a violation of the page's policy is one. */
async function open(browser: Browser, file: string, width: number, colorScheme: 'light' | 'dark') {
  const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme });
  page.setDefaultTimeout(PATIENCE_MS);
  const complaints: string[] = [];
  page.on('console', (message) => complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on(
    'request',
    (request) => request.url() !== pathToFileURL(file).href && complaints.push(request.url()),
  );
  await page.goto(pathToFileURL(file).href);
  return { page, complaints };
}

/** Names as they should be, and as they should not: nothing of them may be cut off or run. */
const SHOTS = [
  'dink',
  'third_shot_drop',
  'smash',
  '<script>alert(1)</script>',
  'W'.repeat(256),
  'a b'.repeat(80),
];

/** @returns the report of a made-up session in which every section has something. */
function reportOf(lines: CourtName, rallies: number, shots: readonly string[]): string {
  const random = new Random(7);
  const read = reader();
  const tally = new SessionTally(lines);
  let eotMs = Date.UTC(2026, 2, 14, 15);
  const add = (type: EventType, payload: object, more: object = {}) =>
    tally.add(read({ type, eotMs, receivedMs: eotMs + random.integer(50, 3_000), ...more }, payload));
  const players = ['p', 'q', 'W'.repeat(256), undefined];
  for (let rally = 0; rally < rallies; rally++) {
    const shot_type = random.pick(shots);
    const player_id = random.pick(players);
    const [x_ft, y_ft] = [random.integer(-80, 280) / 10, random.integer(-60, 520) / 10];
    add('BALL_HIT', { shot_type, player_id }, { current: false, confidence: 0.5 });
    add('BALL_HIT', { shot_type, player_id }, { revision: 1 });
    add('PLAYER_POSITION', { player_id: random.pick(SHOTS), x_ft, y_ft }, { source: random.pick(SHOTS) });
    add('BALL_SPEED', { kmh: random.integer(0, 1_200) / 10 });
    eotMs += random.integer(300, 2_000);
    const is_in = random.chance(0.1) ? undefined : x_ft >= 0 && x_ft <= 20;
    add('BALL_BOUNCE', { x_ft, y_ft, is_in });
    if (random.chance(0.1)) add('BALL_BOUNCE', { x_ft: 1e300, y_ft: -1e300, is_in: true });
    if (random.chance(0.1)) add('PLAYER_POSITION', { player_id: random.pick(SHOTS), x_ft: 1e300, y_ft: 1 });
    if (random.chance(0.1)) eotMs += 200_000;
  }
  tally.end();
  const line = {
    session_id: 'W'.repeat(256),
    events: 1,
    first_eot: null,
    last_eot: null,
    duplicates: 3,
    conflicts: 1,
  };
  return pageOf({ line, tally, oddTimes: 3 });
}

/** @returns elements that exceed the window, and texts that exceed their figure. */
function cutOff(page: Page): Promise<string[]> {
  // It runs in the browser, whose names the compiler does not know.
  return page.evaluate(`(() => {
    const name = (element) => element.tagName + ' ' + element.textContent.slice(0, 60);
    const root = document.documentElement;
    const wide = root.scrollWidth > innerWidth ? ['the page is ' + root.scrollWidth + ' wide'] : [];
    for (const element of document.querySelectorAll('body *:not(svg *)')) {
      const { left, right, width } = element.getBoundingClientRect();
      if (width > 1 && !element.closest('.scroll > *') && (left < -0.5 || right > innerWidth + 0.5)) wide.push(name(element));
    }
    for (const scroll of document.querySelectorAll('.scroll')) if (scroll.scrollWidth > scroll.clientWidth + 1) wide.push(name(scroll));
    for (const text of document.querySelectorAll('svg text')) {
      const [own, all] = [text.getBoundingClientRect(), text.ownerSVGElement.getBoundingClientRect()];
      if (own.left < all.left - 1 || own.right > all.right + 1 || own.top < all.top - 1 || own.bottom > all.bottom + 1) wide.push(name(text));
    }
    return wide;
  })()`);
}

/** A phone and screens, light and dark. */
const LOOKS = [
  [360, 'light'],
  [360, 'dark'],
  [1000, 'light'],
  [1440, 'dark'],
] as const;
t.test(
  'a browser shows the whole report on a phone and on screens, and loads nothing else',
  { skip },
  async (t) => {
    const folder = temporaryFolder(t);
    const browser = await launch(t);
    for (const lines of ['pickleball', 'badminton', 'tennis', 'padel', 'none'] as const) {
      const file = path.join(folder, `${lines}.html`);
      fs.writeFileSync(file, reportOf(lines, 120, SHOTS));
      for (const [width, scheme] of lines === 'pickleball' ? LOOKS : LOOKS.slice(0, 1)) {
        const { page, complaints } = await open(browser, file, width, scheme);
        t.strictSame([await cutOff(page), complaints], [[], []], `${lines} ${width} ${scheme}`);
        await page.close();
      }
    }
  },
);

t.test('its figures and sections have names, and paper is A4 and light', { skip }, async (t) => {
  const file = path.join(temporaryFolder(t), 'report.html');
  fs.writeFileSync(file, reportOf('pickleball', 120, SHOTS));
  const { page, complaints } = await open(await launch(t), file, 1440, 'dark');
  const images = page.getByRole('img');
  t.equal(await images.count(), await page.locator('svg').count());
  for (const image of await images.all()) t.ok((await image.getAttribute('aria-label'))!.length > 10);
  t.equal(await page.getByRole('region').count(), 12, 'every section is a landmark with a name');
  const pdf = (await page.pdf({ preferCSSPageSize: true, printBackground: true })).toString('latin1');
  const sizes = [...pdf.matchAll(/\/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]/g)].map(([, ...sides]) =>
    sides.map(Number).map(Math.round),
  );
  t.ok(sizes.length >= 3 && sizes.length <= 14, `${sizes.length} pages`);
  t.strictSame(
    sizes.filter(([width, height]) => width !== 595 || height !== 842),
    [],
    'A4',
  );
  await page.emulateMedia({ media: 'print' });
  const paper = await page.evaluate('getComputedStyle(document.body).backgroundColor');
  t.equal(paper, 'rgb(255, 255, 255)', 'paper is light, whatever the screen is');
  t.strictSame(complaints, []);
});

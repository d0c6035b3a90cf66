import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import type { Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { launch, open, NEEDS_BROWSER as skip } from '../harness/browser.ts';
import { courtd } from '../harness/daemon.ts';
import { matchLines } from '../harness/match.ts';
import { Committer, court, scratch } from '../harness/scratchStore.ts';

/** WCAG 2.1, levels A and AA, as axe-core names them. */
const WCAG = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'];
const AXE = fs.readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** A phone and a screen, light and dark, and paper, which is A4 less its margins. */
const LOOKS = [
  [390, 'light', 'screen'],
  [390, 'dark', 'screen'],
  [1280, 'light', 'screen'],
  [1280, 'dark', 'screen'],
  [695, 'light', 'print'],
] as const;

interface Found {
  readonly violations: readonly string[];
  /** What axe cannot decide. */
  readonly open: readonly string[];
  readonly passes: number;
}

/** @returns what axe says of a page, each with the first element that it names. */
async function audit(page: Page): Promise<Found> {
  await page.evaluate(AXE);
  return page.evaluate(`axe.run(document, { runOnly: ${JSON.stringify(WCAG)} }).then((found) => {
    const named = (rules) => rules.flatMap(({ id, nodes }) => nodes.map((node) =>
      id + ': ' + (node.any[0]?.data?.messageKey ?? '') + ' ' + node.html.slice(0, 120)));
    return { violations: named(found.violations), open: named(found.incomplete), passes: found.passes.length };
  })`);
}

/** @returns the report of a simulated match. */
async function report(t: Test): Promise<string> {
  const { folder: data, db } = scratch(t);
  const file = path.join(data, 'report.html');
  // A player whom no camera knows.
  const lines = matchLines(8_000).replaceAll(/"player_id":"player-b",("shot_type":"lob")/g, '$1');
  new Committer(db).append(
    ...court(
      ...lines
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ),
  );
  db.close();
  const [session] = JSON.parse((await courtd(['session', 'list', '--json', '--data', data])).stdout);
  const { status, stderr } = await courtd(['report', session.session_id, ...['-o', file, '--data', data]]);
  if (status !== 0) throw new Error(stderr);
  return file;
}

t.test('axe finds no violation of WCAG 2.1 A and AA, in any look', { skip }, async (t) => {
  const browser = await launch(t);
  const file = await report(t);
  for (const [width, scheme, media] of LOOKS) {
    const { page } = await open(browser, file, width, scheme);
    await page.emulateMedia({ media });
    // Whoever looks has opened the tables; on paper those that are closed are not printed.
    await page.evaluate("for (const details of document.querySelectorAll('details')) details.open = true");
    const { violations, open: undecided, passes } = await audit(page);
    t.strictSame(violations, [], `${width} ${scheme} ${media}: ${passes} rules passed`);
    // axe decides nothing of one digit, of a cell that is scrolled away, and of the texts of a drawing, which have the colour
    // of all other text.
    t.strictSame(
      undecided.filter(
        (what) => !/^color-contrast: (?:shortTextContent|imgNode|elmPartiallyObscured) /.test(what),
      ),
      [],
    );
    t.equal(
      await page.evaluate(
        "[...document.querySelectorAll('svg text')].filter((text) => getComputedStyle(text).fill !== getComputedStyle(document.body).color).length",
      ),
      0,
    );
    await page.close();
  }
});

t.test(
  'a keyboard alone reaches every table, and a screen reader finds its headings',
  { skip },
  async (t) => {
    const browser = await launch(t);
    const file = await report(t);
    for (const width of [390, 1280]) {
      const { page } = await open(browser, file, width, 'light');
      const tables = await page.locator('table').count();
      const reached = new Set<number>();
      let at: unknown;
      while (at !== 'BODY') {
        await page.keyboard.press('Tab');
        at = await page.evaluate(`(() => {
        const at = document.activeElement;
        return at.matches('.scroll') ? [...document.querySelectorAll('.scroll')].indexOf(at) : at.tagName;
      })()`);
        if (typeof at === 'number') reached.add(at);
      }
      t.equal(reached.size, tables, `${reached.size} of ${tables} tables`);
      t.ok(tables >= 4);

      const session = await page.context().newCDPSession(page);
      const { nodes } = await session.send('Accessibility.getFullAXTree');
      const count = (role: string) =>
        nodes.filter((node) => !node.ignored && node.role?.value === role).length;
      t.equal(count('table'), tables, `to a screen reader they are tables at a width of ${width}`);
      t.equal(count('columnheader'), await page.locator('thead th').count());
      t.equal(count('rowheader'), await page.locator('tbody th').count());
      t.equal(count('cell'), await page.locator('tbody td').count());
      t.equal(count('image'), await page.locator('svg').count());
      await page.close();
    }
  },
);

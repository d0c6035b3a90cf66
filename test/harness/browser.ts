import { pathToFileURL } from 'node:url';
import { type Browser, chromium } from 'playwright-core';
import type { Cleanup } from './daemon.ts';
import { missingPrograms } from './needs.ts';

/** Why no browser can be started here: what `skip` of a test takes. */
export const NEEDS_BROWSER = missingPrograms({ chromium: 'chromium' }) ?? false;

/** A machine that is busy with other tests takes its time. */
const PATIENCE_MS = 300_000;

/** Debian's chromium, headless, with a profile of its own, which is removed with it. */
export async function launch(t: Cleanup): Promise<Browser> {
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
export async function open(browser: Browser, file: string, width: number, colorScheme: 'light' | 'dark') {
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

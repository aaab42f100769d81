/**
 * Takes screenshots of every page on recorded responses, in both themes and on three screens, for people to review:
 * `node e2e/console/visual/screenshots.ts FOLDER [PART-OF-A-PATH] [375-dark …]`. Dialogs and drawers are opened only on the
 * widest and the narrowest screen.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { buildConsole, openBrowser, openSecondUser } from "../console-browser.ts";
import { ALL_PAGES } from "./all-pages.ts";
import { SCREENS } from "./page-checks.ts";
import { waitForPage } from "./page-tour.ts";
import { readRecordingTime } from "./recording-files.ts";
import { ROLE_COOKIE, startReplayedConsole, TIME_ZONE } from "./replayed-console.ts";

const HEIGHT_MAX = 2_600;
const [folder = "shots", part = "", ...looks] = process.argv.slice(2);

buildConsole();
await mkdir(folder, { recursive: true });
const replay = await startReplayedConsole();
const browser = await openBrowser({ baseUrl: replay.baseUrl });
try {
  for (const [as, stops] of ALL_PAGES) {
    for (const stop of stops.filter(({ path }) => path.includes(part))) {
      const session = await openSecondUser(browser, { baseUrl: replay.baseUrl, timeZone: TIME_ZONE, still: true });
      const { page, context } = session;
      await context.addCookies([{ name: ROLE_COOKIE, value: as, url: replay.baseUrl }]);
      await context.clock.setFixedTime(readRecordingTime());
      const name = `${as}${stop.path.replaceAll(/\W+/g, "-")}`;
      try {
        await replay.unlessMissing(async () => {
          await page.goto(`/console${stop.path}`);
          await waitForPage(page, stop);
          await take(page, name);
          if (stop.open !== undefined) {
            await page.setViewportSize(SCREENS[0]);
            await stop.open(page);
            await take(page, `${name}-opened`);
          }
        });
      } catch (error) {
        console.error(`${name}: ${String(error)}`);
      }
      await session.close();
      console.log(name);
    }
  }
} finally {
  await browser.close();
  await replay.close();
}

async function take(page: Page, name: string): Promise<void> {
  for (const screen of SCREENS) {
    if (looks.length > 0 && !looks.some((look) => look.startsWith(`${screen.width}-`))) continue;
    await page.setViewportSize(screen);
    await page.locator("#root .animate-breathe.bg-sunken").first().waitFor({ state: "detached" });
    const tall = await page.evaluate<number>("document.documentElement.scrollHeight");
    const height = Math.min(HEIGHT_MAX, Math.max(tall, screen.height));
    await page.setViewportSize({ width: screen.width, height });
    for (const theme of ["light", "dark"] as const) {
      const look = `${screen.width}-${theme}`;
      if (looks.length > 0 && !looks.includes(look)) continue;
      await page.emulateMedia({ colorScheme: theme });
      await page.locator(`html[data-theme=${theme}]`).waitFor();
      await page.screenshot({ path: join(folder, `${name}-${look}.png`) });
    }
  }
}

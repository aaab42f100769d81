/**
 * Columns stay where they are when the figures of an open page change. Every amount and count of the recorded responses
 * gets other digits, as many as before, and the page reads them again.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { eventually } from "@tollgate/stage/wait.ts";
import type { Page } from "playwright-core";
import { NEEDS_CHROMIUM, openSecondUser } from "../console-browser.ts";
import { ALL_PAGES } from "./all-pages.ts";
import { waitForPage } from "./page-tour.ts";
import { readRecordingTime } from "./recording-files.ts";
import { openReplayBeforeTests, ROLE_COOKIE, TIME_ZONE } from "./replayed-console.ts";

/** At least the refresh interval of these pages. */
const REFRESH_MS = 20_000;
const FIGURE = /(_micro|^(requests|prompt_tokens|completion_tokens|jobs|failed|busy|answers))$/;

/** Every digit but zero becomes another one, so that numbers keep their length and decimals. */
const otherDigits = (text: string): string => text.replaceAll(/[1-9]/g, (digit) => String((Number(digit) % 9) + 1));

function withOtherFigures(value: unknown, name = ""): unknown {
  if (Array.isArray(value)) return value.map((one) => withOtherFigures(one, name));
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withOtherFigures(one, key)]));
  }
  if (!FIGURE.test(name)) return value;
  if (typeof value === "string") return otherDigits(value);
  return typeof value === "number" ? Number(otherDigits(String(value))) : value;
}

interface Columns {
  text: string;
  /** The left edge of every header cell, by table and column. */
  edges: string[];
}

const READ_COLUMNS = `({
  text: [...document.querySelectorAll("table")].map((table) => table.innerText).join(" "),
  edges: [...document.querySelectorAll("table")].flatMap((table) => [...table.querySelectorAll("th[scope=col]")].map(
    (cell) => table.getAttribute("aria-label") + ": " + cell.textContent + " at " + Math.round(cell.getBoundingClientRect().x))),
})`;

const readColumns = (page: Page): Promise<Columns> => page.evaluate<Columns>(READ_COLUMNS);

describe("visual: columns", NEEDS_CHROMIUM, () => {
  const opened = openReplayBeforeTests();

  const PAGES = ["/keys", "/host", "/credits", "/operator/accounts"];
  const stops = ALL_PAGES.flatMap(([as, all]) => all.map((stop) => ({ as, stop })));
  for (const { as, stop } of stops.filter(({ stop: { path } }) => PAGES.includes(path))) {
    test(`the columns of the ${as}'s page ${stop.path} stay in place when its figures change`, async () => {
      const { replay, browser } = opened;
      const { baseUrl } = replay;
      const session = await openSecondUser(browser, { baseUrl, width: 1280, height: 800, timeZone: TIME_ZONE });
      const { page, context } = session;
      try {
        await context.addCookies([{ name: ROLE_COOKIE, value: as, url: baseUrl }]);
        await page.clock.install({ time: readRecordingTime() });
        let before: Columns | undefined;
        // The response to the health query. Pages that refresh more often send it, because the clock below skips
        // several of their refreshes.
        const health = { object: "health", as_of: readRecordingTime().getTime() / 1000, unreachable: [] };
        await page.route("**/console/api/health", (route) => route.fulfill({ json: health }));
        await replay.unlessMissing(async () => {
          await page.goto(`/console${stop.path}`);
          await waitForPage(page, stop);
          before = await readColumns(page);
          assert.ok(before.edges.length > 0, "the page has a table");
          await page.route(/\/console\/api\/(?!auth|live|health)/, async (route) => {
            const response = await route.fetch();
            const body = await response.text();
            const isJson = response.headers()["content-type"]?.includes("json") === true;
            await route.fulfill({
              response,
              body: isJson ? JSON.stringify(withOtherFigures(JSON.parse(body))) : body,
            });
          });
          await page.clock.fastForward(REFRESH_MS);
          await eventually(
            "the table shows the new figures",
            async () => (await readColumns(page)).text !== before?.text,
          );
        });
        assert.deepEqual((await readColumns(page)).edges, before?.edges);
      } finally {
        await page.unrouteAll({ behavior: "ignoreErrors" });
        await session.close();
      }
    });
  }
});

/**
 * While a page loads, elements that are already visible must not move. The API responses are released one at a time: on
 * one screen in the order of the requests, on another in reverse order. Chromium's own layout shifts are added up. No
 * time is measured.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { eventually } from "@tollgate/stage/wait.ts";
import type { Page } from "playwright-core";
import { NEEDS_CHROMIUM, openSecondUser } from "../console-browser.ts";
import { ALL_PAGES } from "./all-pages.ts";
import { type TourStop, waitForPage } from "./page-tour.ts";
import { type Role, readRecordingTime } from "./recording-files.ts";
import { type HeldResponses, openReplayBeforeTests, ROLE_COOKIE, TIME_ZONE } from "./replayed-console.ts";

/**
 * The maximum sum of all layout shifts of a page load. Stricter than the metric CLS, which only adds up shifts that are
 * close in time.
 */
const SHIFT_MAX = 0.05;

const LOADS = [
  { width: 1280, height: 800, order: "first question first", next: (held: HeldResponses) => held.shift() },
  { width: 375, height: 740, order: "last question first", next: (held: HeldResponses) => held.pop() },
];

interface Shift {
  value: number;
  moved: string[];
}

/** A script that runs in the page before its own code. */
const WATCH = `
  globalThis.shifts = [];
  new PerformanceObserver((list) => list.getEntries().forEach(({ value, hadRecentInput, sources }) => {
    if (hadRecentInput) return;
    const moved = sources.map(({ node, previousRect, currentRect }) => {
      const name = node?.nodeType === 1 ? node.tagName.toLowerCase() + " " + node.textContent.trim().slice(0, 40) : node?.textContent;
      return name + " y " + previousRect.y + " to " + currentRect.y + ", x " + previousRect.x + " to " + currentRect.x;
    });
    shifts.push({ value, moved });
  })).observe({ type: "layout-shift", buffered: true });
`;

/** Waits two frames, because a shift is reported with the frame after it. */
const twoFrames = (page: Page): Promise<void> =>
  page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))");

describe("visual: layout shift", NEEDS_CHROMIUM, () => {
  const opened = openReplayBeforeTests();

  for (const [as, stops] of ALL_PAGES) {
    for (const stop of stops) {
      test(`loading the ${as}'s page ${stop.path} moves no visible element`, async () => {
        for (const { width, height, order, next } of LOADS) {
          let shifts: Shift[] = [];
          await opened.replay.unlessMissing(async () => {
            shifts = await loadStepwise(as, stop, { width, height, next });
          });
          const sum = shifts.reduce((total, { value }) => total + value, 0);
          console.log(`${stop.path} ${width} px: ${sum.toFixed(3)}`);
          assert.ok(
            sum <= SHIFT_MAX,
            `${stop.path}, ${width} pixels wide, ${order}: ${JSON.stringify(shifts, null, 1)}`,
          );
        }
      });
    }
  }

  async function loadStepwise(
    as: Role,
    stop: TourStop,
    {
      width,
      height,
      next,
    }: { width: number; height: number; next: (held: HeldResponses) => HeldResponses[0] | undefined },
  ): Promise<Shift[]> {
    const { replay, browser } = opened;
    const { baseUrl } = replay;
    const session = await openSecondUser(browser, { baseUrl, width, height, timeZone: TIME_ZONE });
    const { page, context } = session;
    const held: HeldResponses = [];
    replay.hold(held);
    try {
      await context.addCookies([{ name: ROLE_COOKIE, value: as, url: baseUrl }]);
      await context.clock.setFixedTime(readRecordingTime());
      await page.addInitScript(WATCH);
      await page.goto(`/console${stop.path}`);
      await page.getByRole("heading", { level: 1 }).waitFor();
      let there = false;
      void waitForPage(page, stop).then(() => {
        there = true;
      });
      while (!there || held.length > 0) {
        await eventually("the page has its data, or asks for more", () => there || held.length > 0);
        await twoFrames(page);
        next(held)?.release();
        await twoFrames(page);
      }
      await page.locator("#root .animate-breathe.bg-sunken").first().waitFor({ state: "detached" });
      await twoFrames(page);
      return await page.evaluate<Shift[]>("shifts");
    } finally {
      for (const { release } of held) release();
      replay.hold(undefined);
      await session.close();
    }
  }
});

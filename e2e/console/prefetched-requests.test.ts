/**
 * Checks the early script, which sends a page's first API requests before the page's code has loaded. It must send
 * exactly the requests that the page will need, for the same account.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { createDataDir, type Platform, removeDataDir, startPlatform } from "@tollgate/stage/dev-platform.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import type { Page, Request } from "playwright-core";
import { ConsoleClient } from "../console-client.ts";
import {
  type BrowserSession,
  buildConsole,
  endSession,
  NEEDS_CHROMIUM,
  openBrowser,
  openSession,
} from "./console-browser.ts";

const API = "/console/api/";
const SESSION = "/console/api/auth/get-session";
/** These requests may name another account than the chosen one, because the bell requests the inbox of each account. */
const INBOX = "/console/api/notifications/inbox";
/** The number of requests that the early script sends for each page, including the one for the session. */
const PAGES = { overview: 10, performance: 4, "performance?range=7d": 4, requests: 10, credits: 4 };

/**
 * Runs in the page. Records which early responses were stored, and which of them the page did not use. The balance is
 * not counted, because the live stream may report it first.
 */
const WATCH_ANSWERS = `
  const kept = new Set();
  const { set } = Map.prototype;
  Map.prototype.set = function (key, value) {
    if (this === globalThis.tollgateEarly) kept.add(key);
    return set.call(this, key, value);
  };
  const left = () => [...globalThis.tollgateEarly.keys()].filter((address) => address !== "/console/api/balance");
  globalThis.allTaken = (count) => kept.size === count && left().length === 0;
`;

describe("early requests, which a script sends before the page has loaded", NEEDS_CHROMIUM, () => {
  let dataDir: string;
  let platform: Platform;
  let browser: BrowserSession;
  let page: Page;
  let asked: Request[] = [];

  before(async () => {
    buildConsole();
    dataDir = await createDataDir();
    platform = await startPlatform(dataDir, ["--no-node", "--payments", "demo"]);
    browser = await openBrowser({ baseUrl: platform.ready.gateway_url });
    page = browser.page;
    page.on("request", (request) => asked.push(request));
    // Query strings contain hours and days, so the early script and the page must see the same time.
    await browser.context.clock.setFixedTime(new Date());
    await browser.context.addInitScript(WATCH_ANSWERS);
  });
  after(async () => {
    await browser?.close();
    await platform?.stop();
    await removeDataDir(dataDir);
  });
  const pathsAsked = (): string[] =>
    asked.map((request) => new URL(request.url()).pathname).filter((path) => path.startsWith(API));
  const untilTaken = (count: number): Promise<unknown> =>
    eventually(`${count} answers are taken`, () => page.evaluate<boolean>(`allTaken(${count})`));

  test("for a visitor who is not signed in, the early script requests only the session", async () => {
    await page.goto("/console/overview");
    await page.getByLabel("Email").waitFor();
    const expected = [SESSION, "/console/api/auth/methods"];
    await eventually("both are asked for", () => expected.every((path) => pathsAsked().includes(path)));
    assert.deepEqual(new Set(pathsAsked()), new Set(expected));
  });

  test("each page uses the responses to all of its early requests", async () => {
    await openSession(page, platform.ready.builder);
    for (const [path, count] of Object.entries(PAGES)) {
      await page.goto(`/console/${path}`);
      await page.getByRole("heading", { level: 1 }).waitFor();
      await untilTaken(count);
    }
    assert.deepEqual(browser.complaints(), []);
  });

  test("the early requests of a user with several accounts are for the chosen account", async () => {
    const builder = await new ConsoleClient(platform).signIn(platform.ready.builder);
    const { id } = await builder.send<{ id: string }>("POST", "accounts", { kind: "builder", name: "Second account" });
    await page.evaluate(`localStorage.setItem("tollgate.acting", JSON.stringify({ builder: ${JSON.stringify(id)} }))`);
    asked = [];
    await page.goto("/console/overview");
    await untilTaken(PAGES.overview);
    const named = asked.filter((request) => {
      const { pathname } = new URL(request.url());
      return pathname.startsWith(API) && pathname !== SESSION && pathname !== INBOX;
    });
    for (const request of named) assert.equal(request.headers()["x-tollgate-account"], id, request.url());
    assert.ok(named.length >= PAGES.overview - 1);
  });

  test("the operator's platform page uses the responses to all of its early requests", async () => {
    await endSession(browser);
    await openSession(page, platform.ready.operator);
    await page.goto("/console/operator");
    await untilTaken(4);
  });
});

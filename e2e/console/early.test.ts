/** What the early script asks for is what the page will ask for, to the letter, and for the same account. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { newDataDir, type Platform, removeDataDir, startPlatform } from "@tollgate/stage/dev.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import type { Page, Request } from "playwright-core";
import { ConsoleClient } from "../console-client.ts";
import { type BrowserSession, buildConsole, endSession, NEEDS_CHROMIUM, openBrowser, openSession } from "./browser.ts";

const API = "/console/api/";
const SESSION = "/console/api/auth/get-session";
/** The bell counts what is unread of the host account too. */
const INBOX = "/console/api/notifications/inbox";
/** With how many questions each is opened, the session's among them. */
const PAGES = { overview: 10, performance: 4, "performance?range=7d": 4, requests: 10, credits: 4 };

/** In the page: which answers were kept, and which of them nobody has asked for. The live stream may tell the balance before. */
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

describe("questions asked early", NEEDS_CHROMIUM, () => {
  let dataDir: string;
  let platform: Platform;
  let browser: BrowserSession;
  let page: Page;
  let asked: Request[] = [];

  before(async () => {
    buildConsole();
    dataDir = await newDataDir();
    platform = await startPlatform(dataDir, ["--no-node", "--payments", "demo"]);
    browser = await openBrowser({ baseUrl: platform.ready.gateway_url });
    page = browser.page;
    page.on("request", (request) => asked.push(request));
    // Addresses name hours and days: the early script and the page have to see the same one.
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

  test("who is not signed in is asked for, and nothing else is", async () => {
    await page.goto("/console/overview");
    await page.getByLabel("Email").waitFor();
    const expected = [SESSION, "/console/api/auth/methods"];
    await eventually("both are asked for", () => expected.every((path) => pathsAsked().includes(path)));
    assert.deepEqual(new Set(pathsAsked()), new Set(expected));
  });

  test("a page takes every answer that was asked for early", async () => {
    await openSession(page, platform.ready.builder);
    for (const [path, count] of Object.entries(PAGES)) {
      await page.goto(`/console/${path}`);
      await page.getByRole("heading", { level: 1 }).waitFor();
      await untilTaken(count);
    }
    assert.deepEqual(browser.complaints(), []);
  });

  test("of several accounts the chosen one is asked for", async () => {
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

  test("the operator's page takes its answers too", async () => {
    await endSession(browser);
    await openSession(page, platform.ready.operator);
    await page.goto("/console/operator");
    await untilTaken(4);
  });
});

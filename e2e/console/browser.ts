/**
 * A real Chromium for the console's journeys: a fresh profile each time, nothing of its own going out. Whatever a page says
 * on its console, and every request it makes to another origin, is kept and held against it at the end.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { eventually, HANG_LIMIT_MS } from "@tollgate/stage/wait.ts";
import { type BrowserContext, type BrowserContextOptions, chromium, type Locator, type Page } from "playwright-core";

const PLACES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--no-first-run",
];
const ROOT = fileURLToPath(new URL("../..", import.meta.url));

export const CHROMIUM = PLACES.find((place) => existsSync(place));
/** For `describe(name, NEEDS_CHROMIUM, …)`: says why the suite is left out. */
export const NEEDS_CHROMIUM =
  CHROMIUM === undefined ? { skip: "Chromium is not installed (Debian: apt-get install chromium)" } : {};

/** The journeys look at what is built from the sources as they are. */
export function buildConsole(): void {
  for (const tool of ["build-console", "build-guide"]) {
    spawnSync(process.execPath, [join(ROOT, `tools/${tool}.mjs`)], { cwd: ROOT, stdio: "inherit" });
  }
  assert.ok(existsSync(join(ROOT, "console/dist/index.html")), "the console could not be built");
  assert.ok(existsSync(join(ROOT, "docs/dist/index.html")), "the guide could not be built");
}

export type Theme = "light" | "dark";

export interface BrowserSession {
  page: Page;
  context: BrowserContext;
  /** What the page complained about since the last time it was asked. */
  complaints(): string[];
  close(): Promise<void>;
}

interface BrowserOptions {
  baseUrl: string;
  width?: number;
  height?: number;
  theme?: Theme;
  /** The machine's own where none is given. */
  timeZone?: string;
  /** Nothing moves, as for people who ask for that: without a graphics card, drawing movement takes processor time. */
  still?: boolean;
}

/** One person at one browser. */
export async function openBrowser(options: BrowserOptions): Promise<BrowserSession> {
  const timeout = HANG_LIMIT_MS;
  const profile = await mkdtemp(join(tmpdir(), "tollgate-browser-"));
  const executablePath = CHROMIUM as string;
  const started = { executablePath, timeout, args: FLAGS, ...contextOptions(options) };
  const session = await watched(await chromium.launchPersistentContext(profile, started), options);
  const close = async (): Promise<void> => {
    await session.close();
    await rm(profile, { recursive: true, force: true });
  };
  return { ...session, close };
}

/** Another person at the same browser, with cookies and storage of their own: far less work than another browser. */
export async function openBeside({ context }: BrowserSession, options: BrowserOptions): Promise<BrowserSession> {
  const browser = context.browser() ?? assert.fail("the browser has gone");
  return watched(await browser.newContext(contextOptions(options)), options);
}

function contextOptions(options: BrowserOptions): BrowserContextOptions {
  const { baseUrl, width = 1440, height = 900, theme = "light", timeZone, still = false } = options;
  return {
    viewport: { width, height },
    colorScheme: theme,
    ...(timeZone !== undefined && { timezoneId: timeZone }),
    reducedMotion: still ? "reduce" : "no-preference",
    permissions: ["clipboard-read", "clipboard-write"],
    acceptDownloads: true,
    baseURL: baseUrl,
  };
}

async function watched(context: BrowserContext, { baseUrl }: BrowserOptions): Promise<BrowserSession> {
  // For every page of it, its locators, navigations, events and requests.
  context.setDefaultTimeout(HANG_LIMIT_MS);
  const page = context.pages()[0] ?? (await context.newPage());
  let said: string[] = [];
  page.on("console", (message) => {
    const text = message.text();
    // Chromium gives up what it is loading when the machine gets or loses a network, and the console asks again.
    if (text.includes("net::ERR_NETWORK_CHANGED")) return;
    if (message.type() === "error" || message.type() === "warning") said.push(`${message.type()}: ${text}`);
  });
  page.on("pageerror", (error) => said.push(`thrown: ${error.message}`));
  page.on("request", (request) => {
    const { origin, protocol } = new URL(request.url());
    if (protocol.startsWith("http") && origin !== baseUrl) said.push(`request to ${origin}`);
  });
  return {
    page,
    context,
    complaints() {
      const all = said;
      said = [];
      return all;
    },
    close: () => context.close(),
  };
}

/** Signed in without the page for it, for suites that are about other pages. */
export async function openSession(page: Page, who: { email: string; password: string }): Promise<void> {
  // The answer's cookie becomes the browser's.
  const headers = { "sec-fetch-site": "same-origin" };
  const answer = await page.request.post("/console/api/auth/sign-in/email", { data: who, headers });
  assert.equal(answer.status(), 200, await answer.text());
}

/**
 * Ends the session of this browser, away from any page of the console: one that notices goes to the sign-in, wherever it was sent
 * meanwhile. But at the same address: a tab that was elsewhere, `about:blank` for one, now and then comes back to what it had kept
 * before its last changes (seen with Chromium 156).
 */
export async function endSession({ page, context }: BrowserSession): Promise<void> {
  await page.goto("/v1/catalog/rates");
  await context.clearCookies();
}

/** Counts the clicks of a person on this page from now on: what scripts do is none. */
export async function countClicks(page: Page): Promise<{ clicks: () => number }> {
  let clicks = 0;
  await page.exposeBinding("countClick", () => {
    clicks += 1;
  });
  const listen = "addEventListener('click', ({ isTrusted }) => isTrusted && countClick(), true)";
  await page.addInitScript(listen);
  await page.evaluate(listen);
  return { clicks: () => clicks };
}

export async function signIn(page: Page, who: { email: string; password: string }): Promise<void> {
  await page.goto("/console/sign-in");
  await page.getByLabel("Email").fill(who.email);
  await page.getByLabel("Password", { exact: true }).fill(who.password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page
    .getByRole("navigation", { name: "Console" })
    .or(page.getByRole("button", { name: "Open navigation" }))
    .waitFor();
}

/** Waits until what is read of a page is `expected`: pages follow what was done on them a moment later. */
export async function untilIs<T>(what: string, read: () => Promise<T>, expected: T): Promise<void> {
  let last: { value: T } | undefined;
  try {
    await eventually(what, async () => {
      last = { value: await read() };
      return isDeepStrictEqual(last.value, expected);
    });
  } catch (error) {
    if (last !== undefined) assert.deepEqual(last.value, expected, what);
    throw error;
  }
}

/** Pages of nodes read them again this often. */
const POLL_MS = 5_000;

/**
 * Makes what a page reads again by itself due, in place of waiting for it. The page's clock is installed before its first page is opened
 * (`page.clock.install()`), and goes on by itself.
 */
export async function readAgain(page: Page): Promise<void> {
  await page.clock.fastForward(POLL_MS);
}

/** Clicks a button that copies and returns what it copied. The clipboard is filled a moment after the click, so it is emptied before. */
export async function copiedBy(page: Page, button: Locator): Promise<string> {
  await page.evaluate("navigator.clipboard.writeText('')");
  await button.click();
  return await eventually("something is copied", async () => {
    const text = await page.evaluate<string>("navigator.clipboard.readText()");
    return text !== "" && text;
  });
}

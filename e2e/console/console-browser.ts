/**
 * Opens a real Chromium for the console's suites, with a new profile each time and Chromium's own traffic turned off. A
 * page's console messages and its requests to other origins are recorded, and each test checks them at its end.
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
/** Options for `describe(name, NEEDS_CHROMIUM, …)`: skip the suite with a reason if Chromium is missing. */
export const NEEDS_CHROMIUM =
  CHROMIUM === undefined ? { skip: "Chromium is not installed (Debian: apt-get install chromium)" } : {};

/** Builds the console and the docs, so that the suites test the current sources. */
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
  /** Returns the page's errors, warnings and requests to other origins since the last call. */
  complaints(): string[];
  close(): Promise<void>;
}

interface BrowserOptions {
  baseUrl: string;
  width?: number;
  height?: number;
  theme?: Theme;
  /** The browser's time zone. Default: the machine's. */
  timeZone?: string;
  /** Requests reduced motion: without a graphics card, animations take much processor time. */
  still?: boolean;
}

/** Opens a browser for one user. */
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

/**
 * Opens a second user in the running browser, with separate cookies and storage. That is much cheaper than a second
 * browser.
 */
export async function openSecondUser({ context }: BrowserSession, options: BrowserOptions): Promise<BrowserSession> {
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
  // This timeout applies to all locators, navigations, events and requests of every page.
  context.setDefaultTimeout(HANG_LIMIT_MS);
  const page = context.pages()[0] ?? (await context.newPage());
  let said: string[] = [];
  page.on("console", (message) => {
    const text = message.text();
    // Chromium aborts requests when the machine's network changes. The console retries them, so this is no error.
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

/** Signs in through the API instead of the sign-in page, for suites that test other pages. */
export async function openSession(page: Page, who: { email: string; password: string }): Promise<void> {
  // The response's cookie is stored in the browser, because the request uses the page's context.
  const headers = { "sec-fetch-site": "same-origin" };
  const answer = await page.request.post("/console/api/auth/sign-in/email", { data: who, headers });
  assert.equal(answer.status(), 200, await answer.text());
}

/**
 * Ends the session from a page outside the console: an open console page would notice, and go to the sign-in page. The
 * page used here has the console's origin, because after a page such as `about:blank` the tab sometimes loads an
 * outdated copy of its storage (seen with Chromium 156).
 */
export async function endSession({ page, context }: BrowserSession): Promise<void> {
  await page.goto("/v1/catalog/rates");
  await context.clearCookies();
}

/** Counts a person's clicks on this page from now on. Clicks by scripts are not counted. */
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

/** Waits until `read` returns `expected`, because a page updates a moment after an action. */
export async function waitUntilEqual<T>(what: string, read: () => Promise<T>, expected: T): Promise<void> {
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

/** The interval at which the node pages reload their nodes. */
const POLL_MS = 5_000;

/**
 * Makes the page's next periodic reload due now. The page's clock must be installed before its first page opens
 * (`page.clock.install()`), and keeps running.
 */
export async function triggerReload(page: Page): Promise<void> {
  await page.clock.fastForward(POLL_MS);
}

/**
 * Clicks a copy button and returns the copied text. Empties the clipboard first, because the page fills it a moment
 * after the click.
 */
export async function copyWithButton(page: Page, button: Locator): Promise<string> {
  await page.evaluate("navigator.clipboard.writeText('')");
  await button.click();
  return await eventually("something is copied", async () => {
    const text = await page.evaluate<string>("navigator.clipboard.readText()");
    return text !== "" && text;
  });
}

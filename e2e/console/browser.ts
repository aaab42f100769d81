/**
 * A real Chromium for the console's journeys: a fresh profile each time, nothing of its own going out. Whatever a page says
 * on its console, and every request it makes to another origin, is kept and held against it at the end.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type BrowserContext, chromium, type Page } from "playwright-core";

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
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export const CHROMIUM = PLACES.find((place) => existsSync(place));
/** For `describe(name, NEEDS_CHROMIUM, …)`: says why the suite is left out. */
export const NEEDS_CHROMIUM =
  CHROMIUM === undefined ? { skip: "Chromium is not installed (Debian: apt-get install chromium)" } : {};

/** The journeys look at what is built from the sources as they are. */
export function buildConsole(): void {
  spawnSync(process.execPath, [join(ROOT, "tools/build-console.mjs")], { cwd: ROOT, stdio: "inherit" });
  assert.ok(existsSync(join(ROOT, "console/dist/index.html")), "the console could not be built");
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
}

/** One person at one browser. */
export async function openBrowser({
  baseUrl,
  width = 1440,
  height = 900,
  theme = "light",
}: BrowserOptions): Promise<BrowserSession> {
  const profile = await mkdtemp(join(tmpdir(), "tollgate-browser-"));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: CHROMIUM as string,
    args: FLAGS,
    viewport: { width, height },
    colorScheme: theme,
    permissions: ["clipboard-read", "clipboard-write"],
    acceptDownloads: true,
    baseURL: baseUrl,
  });
  context.setDefaultTimeout(40_000);
  const page = context.pages()[0] ?? (await context.newPage());
  let said: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") said.push(`${message.type()}: ${message.text()}`);
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
    async close() {
      await context.close();
      await rm(profile, { recursive: true, force: true });
    },
  };
}

/** Signed in without the page for it, for suites that are about other pages. */
export async function openSession(page: Page, who: { email: string; password: string }): Promise<void> {
  // The answer's cookie becomes the browser's.
  const headers = { "sec-fetch-site": "same-origin" };
  const answer = await page.request.post("/console/api/auth/sign-in/email", { data: who, headers });
  assert.equal(answer.status(), 200, await answer.text());
}

export async function signIn(page: Page, who: { email: string; password: string }): Promise<void> {
  await page.goto("/console/sign-in");
  await page.getByLabel("E-mail").fill(who.email);
  await page.getByLabel("Password", { exact: true }).fill(who.password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page
    .getByRole("navigation", { name: "Console" })
    .or(page.getByRole("button", { name: "Open the navigation" }))
    .waitFor();
}

/** What axe finds on the page as it stands, but for trifles, each with the elements it is about. */
export async function axeFindings(page: Page): Promise<string[]> {
  const session = await page.context().newCDPSession(page);
  try {
    // What still fades in has not its colours yet; what never ends (a skeleton's breathing) is not waited for.
    await page.evaluate(`Promise.all(document.getAnimations()
      .filter(({ effect }) => effect.getComputedTiming().iterations !== Infinity)
      .map(({ finished }) => finished.catch(() => undefined))).then(() => undefined)`);
    // Through the debugger: the page's own policy lets no other script in.
    const { result: loaded } = await session.send("Runtime.evaluate", { expression: "typeof axe" });
    if (loaded.value === "undefined") await session.send("Runtime.evaluate", { expression: AXE });
    const { result } = await session.send("Runtime.evaluate", {
      expression: `axe.run({ resultTypes: ["violations"] }).then((found) => JSON.stringify(found.violations
        .filter(({ impact }) => impact !== "minor")
        .map(({ id, help, nodes }) => id + " (" + help + "): " + nodes.map(({ target }) => target.join(" ")).join(", "))))`,
      awaitPromise: true,
    });
    return JSON.parse(String(result.value));
  } finally {
    await session.detach();
  }
}

/** How many pixels the page is wider than the screen. */
async function sidewaysScroll(page: Page): Promise<number> {
  return Number(await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"));
}

/** The page as it stands, in both themes: nothing but trifles for axe, nothing to scroll sideways, no complaints. */
export async function assertLooksRight({ page, complaints }: BrowserSession, where: string): Promise<void> {
  for (const theme of ["light", "dark"] satisfies Theme[]) {
    await page.emulateMedia({ colorScheme: theme });
    await page.locator(`html[data-theme=${theme}]`).waitFor();
    assert.deepEqual(await axeFindings(page), [], `${where}, ${theme}: axe`);
    assert.equal(await sidewaysScroll(page), 0, `${where}, ${theme}: scrolls sideways`);
  }
  assert.deepEqual(complaints(), [], where);
}

/** Every page of the builder, in both themes, on a telephone, a small screen and a desk: nothing but trifles for axe, nothing to scroll sideways. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { newDataDir, type Platform, removeDataDir, startPlatform } from "@tollgate/stage/dev.ts";
import { untilCounted } from "@tollgate/stage/ledger-check.ts";
import { chat } from "@tollgate/stage/requests.ts";
import { hangSignal } from "@tollgate/stage/wait.ts";
import {
  assertFitsEverywhere,
  assertLooksRightEverywhere,
  type BrowserSession,
  buildConsole,
  copiedBy,
  NEEDS_CHROMIUM,
  openBrowser,
  openSession,
  takeScreen,
  untilIs,
} from "./browser.ts";
import { assertDrawerIsShaded } from "./layout.ts";

const OUTSIDE = [
  { path: "/sign-in", heading: "Sign in" },
  { path: "/sign-up", heading: "Create account" },
  { path: "/forgot-password", heading: "Reset password" },
  { path: "/reset-password#token=x", heading: "Set a new password" },
  { path: "/sign-in/code", heading: "Enter your code" },
  { path: "/join#token=x", heading: "You are invited to a team" },
  { path: "/no-such-page", heading: "Page not found" },
];
const INSIDE = [
  { path: "/overview", heading: "Overview", there: "All requests" },
  { path: "/keys", heading: "API keys", there: /^Used / },
  { path: "/requests", heading: "Requests", there: "tiny-3b" },
  { path: "/models/tiny-3b?range=7d", heading: "tiny-3b", there: "Availability by hour" },
  { path: "/models/embed-m3", heading: "embed-m3", there: "Vector width" },
  { path: "/models/large-70b", heading: "large-70b", there: "coming soon" },
  { path: "/performance", heading: "Performance", there: "Show as table" },
  { path: "/settings", heading: "Settings", there: "Active sessions" },
  { path: "/accounts", heading: "Accounts", there: "Your accounts" },
  { path: "/team", heading: "Team", there: "Recent changes" },
];
/** The gateway's own pages. Those of the second list are made of the same parts as the others, and long. */
const OWN = {
  inDetail: ["/", "/docs", "/status", "/docs/guide", "/docs/guide/operators", "/docs/guide/operators/settings"],
  byShape: ["/docs/node", "/docs/console", "/docs/guide/console", "/docs/guide/clients", "/docs/guide/threats"],
};

/** What a program prints, run where the suite's own packages are. */
async function said(program: string, args: string[]): Promise<string> {
  const cwd = fileURLToPath(new URL("..", import.meta.url));
  const { stdout } = await promisify(execFile)(program, args, { cwd, signal: hangSignal() });
  return stdout;
}

/** Code of the page with what a reader puts into it: a key, and a model that this platform serves. */
const ready = (code: string, apiKey: string): string =>
  code.replace("tsk_live_your_key", apiKey).replaceAll("small-8b", "tiny-3b");

describe("how the console looks", NEEDS_CHROMIUM, () => {
  let dataDir: string;
  let platform: Platform;

  before(async () => {
    buildConsole();
    dataDir = await newDataDir();
    platform = await startPlatform(dataDir, ["--engine", "scripted", "--models", "tiny-3b"]);
    for (const orders of [{ tokens: 40 }, { fail_after: 5 }]) await (await chat(platform, orders)).text();
    await untilCounted(platform);
    // One that is nearly spent, and one that is.
    await platform.query(
      `select key_budget_set(k.account_id, k.id, spent * 6 / 5, 1)
         from api_key k, (select sum(charge_pico)::bigint as spent from usage_hour) u where k.name = 'local'`,
    );
    // One that ended, which has the most to say, and one that goes on.
    await platform.query(
      `insert into incident (model, kind, began_at, ended_at, last_at)
       values ('tiny-3b', 'unavailable', now() - interval '9 days', now() - interval '8 days 22 hours 17 minutes', null),
              ('tiny-3b', 'errors', now() - interval '5 minutes', null, now())`,
    );
  });
  after(async () => {
    await platform?.stop();
    await removeDataDir(dataDir);
  });

  const inOneBrowser = async (look: (browser: BrowserSession) => Promise<void>): Promise<void> => {
    const browser = await openBrowser({ baseUrl: platform.ready.base_url });
    await look(browser).finally(() => browser.close());
  };

  test("the pages before the sign-in", () =>
    inOneBrowser(async (browser) => {
      const { page } = browser;
      for (const [index, { path, heading }] of OUTSIDE.entries()) {
        await takeScreen(browser, index);
        await page.goto(`/console${path}`);
        await page.getByRole("heading", { name: heading }).waitFor();
        await assertLooksRightEverywhere(browser, path);
      }
    }));

  test("the builder's pages", () =>
    inOneBrowser(async (browser) => {
      const { page } = browser;
      await openSession(page, platform.ready.builder);
      for (const [index, { path, heading, there }] of INSIDE.entries()) {
        await takeScreen(browser, index);
        await page.goto(`/console${path}`);
        await page.getByRole("heading", { name: heading, exact: true }).waitFor();
        await page.getByText(there).filter({ visible: true }).first().waitFor();
        await assertLooksRightEverywhere(browser, path);
      }
    }));

  // Opened on the telephone, where something else is most easily in the way.
  test("what opens on the builder's pages", () =>
    inOneBrowser(async (browser) => {
      const { page } = browser;
      const judge = (where: string): Promise<void> => assertLooksRightEverywhere(browser, where);
      await openSession(page, platform.ready.builder);
      await takeScreen(browser, 0);
      await page.goto("/console/requests");
      await page.getByRole("table", { name: "Requests" }).getByRole("row").nth(1).click();
      await page.getByRole("heading", { name: "Timeline" }).waitFor();
      await judge("the details of a request");
      await page.goto("/console/keys");
      await page.getByRole("button", { name: "Create key" }).click();
      await page.getByText("Budget, expiry, models, limits").click();
      await page.getByLabel("Only some").check();
      await judge("the dialog for a new key");
      await page.goto("/console/keys");
      await page.getByRole("row", { name: /local/ }).click();
      await page.getByRole("figure", { name: /Spend in the last 30 days/ }).waitFor();
      await judge("the details of a key");
      await page.getByRole("button", { name: "Edit" }).click();
      await page.getByLabel("Name").waitFor();
      await judge("the dialog for a key's settings");
      await assertDrawerIsShaded(page);
      await page.getByRole("button", { name: "Cancel" }).click();
      await page.getByRole("button", { name: "Rotate" }).click();
      await page.getByLabel("Old secret").waitFor();
      await judge("the dialog for a new secret");
      await page.goto("/console/keys");
      await page
        .getByRole("button", { name: /^Search/ })
        .filter({ visible: true })
        .click();
      await page.getByRole("option", { name: /local/ }).first().waitFor();
      await judge("the command palette");
    }));

  test("the gateway's own pages", () =>
    inOneBrowser(async (browser) => {
      const { page } = browser;
      for (const [index, path] of [...OWN.inDetail, ...OWN.byShape].entries()) {
        await takeScreen(browser, index);
        await page.goto(path);
        await page.getByRole("heading", { level: 1 }).waitFor();
        if (OWN.inDetail.includes(path)) await assertLooksRightEverywhere(browser, path);
        else await assertFitsEverywhere(browser, path);
      }
      await takeScreen(browser, 0);
      await page.goto("/status");
      const incidents = page.getByRole("group", { name: "Incidents" });
      assert.ok((await incidents.getByRole("row", { name: /tiny-3b/ }).count()) >= 2, "the incidents are there");
      const wider = await incidents.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth);
      assert.ok(wider <= 0, `incidents are ${wider} pixels wider than a telephone`);
    }));

  test("from the bare address to a first call: docs, one language for all, copied code that works, and back", async () => {
    const { base_url: baseUrl, api_key: apiKey } = platform.ready;
    // The budgets that the pictures above are of would refuse it.
    await platform.query("select key_budget_set(k.account_id, k.id, null, null) from api_key k where k.name = 'local'");
    const browser = await openBrowser({ baseUrl });
    const { page } = browser;
    try {
      await page.goto("/");
      await page.getByText(`${baseUrl}/v1`, { exact: true }).waitFor();
      await page.getByRole("main").getByRole("link", { name: "Docs" }).click();
      const shown = page.locator(".samples figure:visible");
      const copyFirst = async (): Promise<string> => {
        const code = await copiedBy(page, page.getByRole("button", { name: /^Copy: The first call/ }));
        await page
          .getByRole("status")
          .getByText(/^Copied: The first call/)
          .waitFor();
        return code;
      };
      assert.match(await said("bash", ["-c", ready(await copyFirst(), apiKey)]), /"object":"chat\.completion"/);
      const examples = await shown.count();
      await page.getByRole("button", { name: "TypeScript" }).nth(2).click();
      const typescript = page.locator('.samples figure[data-language="typescript"]:visible');
      await untilIs("examples in TypeScript", () => typescript.count(), examples);
      await page.reload();
      await untilIs("examples: one language at a time", () => shown.count(), examples);
      const code = ready(await copyFirst(), apiKey);
      assert.match(code, /new OpenAI\(\{/);
      assert.match(await said(process.execPath, ["--input-type=module", "-e", code]), /\w/);
      const contents = page.getByRole("navigation", { name: "Contents" });
      await contents.getByRole("link", { name: "Turn texts into vectors" }).click();
      await contents.locator('[aria-current="location"]').getByText("Turn texts into vectors").waitFor();
      await page.getByRole("combobox", { name: "Theme" }).selectOption("dark");
      await openSession(page, platform.ready.builder);
      await page.getByRole("link", { name: "API keys" }).click();
      await page.getByRole("heading", { name: "API keys", exact: true }).waitFor();
      // The theme is the console's too.
      await page.locator("html[data-theme=dark]").waitFor();
      await page.getByRole("navigation", { name: "Console" }).getByRole("link", { name: "Docs" }).click();
      await page.getByRole("heading", { name: "Tollgate API" }).waitFor();
      assert.deepEqual(browser.complaints(), []);
    } finally {
      await browser.close();
    }
  });

  test("the guide: from the first page to a page of it, its headings, code to copy, and back to docs and console", async () => {
    const browser = await openBrowser({ baseUrl: platform.ready.base_url });
    const { page } = browser;
    try {
      await page.goto("/");
      await page.getByRole("main").getByRole("link", { name: "Guide" }).click();
      await page.getByRole("main").getByRole("link", { name: "For operators" }).click();
      await page.getByRole("heading", { level: 1, name: "For operators" }).waitFor();
      const contents = page.getByRole("navigation", { name: "Contents" });
      await contents.locator('[aria-current="page"]').getByText("For operators").waitFor();
      await contents.getByRole("link", { name: "Upgrading" }).click();
      await contents.locator('[aria-current="location"]').getByText("Upgrading").waitFor();
      const copied = await copiedBy(page, page.getByRole("button", { name: "Copy: Shell, in 1. Install" }));
      assert.equal(copied, "mkdir tollgate && cd tollgate\nnpm install tollgate");
      await page.getByRole("status").getByText("Copied: Shell").waitFor();
      await contents.getByRole("link", { name: "The console" }).click();
      const picture = page.getByRole("img", { name: /^Overview: credit/ });
      await picture.scrollIntoViewIfNeeded();
      await page.evaluate(`document.querySelector("img[src$='/overview.webp']").decode()`);
      await page.getByRole("navigation", { name: "Docs" }).getByRole("link", { name: "Public API" }).click();
      await page.getByRole("heading", { name: "Tollgate API" }).waitFor();
      await openSession(page, platform.ready.builder);
      await page.getByRole("link", { name: "Console", exact: true }).click();
      await page.getByRole("navigation", { name: "Console" }).getByRole("link", { name: "Guide" }).click();
      await page.getByRole("heading", { level: 1, name: "Guide" }).waitFor();
      assert.equal((await page.request.get("/docs/guide/no-such-page")).status(), 404);
      assert.deepEqual(browser.complaints(), []);
    } finally {
      await browser.close();
    }
  });

  test("the docs without a script: every language is there, and nothing that would not work", async () => {
    const browser = await openBrowser({ baseUrl: platform.ready.base_url, width: 390 });
    const { page } = browser;
    try {
      const session = await page.context().newCDPSession(page);
      await session.send("Emulation.setScriptExecutionDisabled", { value: true });
      await page.goto("/docs");
      for (const language of ["curl", "python", "typescript"]) {
        await page.locator(`.samples figure[data-language=${language}]`).first().waitFor();
      }
      assert.equal(await page.locator("button:visible, select:visible").count(), 0);
      await page.getByRole("navigation", { name: "Contents" }).getByRole("link", { name: "Errors" }).waitFor();
      await page.goto("/status");
      const bars = page.getByRole("img", { name: /^Availability of tiny-3b/ });
      await bars.waitFor();
      assert.equal(await bars.locator("rect").count(), 90);
      await page.getByText("Day by day of tiny-3b").click();
      await page
        .getByRole("group", { name: "Days of tiny-3b" })
        .or(page.getByText("Nothing was measured yet"))
        .first()
        .waitFor();
      const head = await page.request.head("/");
      assert.deepEqual([head.status(), await head.text()], [200, ""]);
    } finally {
      await browser.close();
    }
  });

  test("the theme follows the system until somebody chooses, and the choice is remembered", async () => {
    const browser = await openBrowser({ baseUrl: platform.ready.base_url, theme: "dark" });
    const { page } = browser;
    const untilTheme = (theme: string): Promise<void> => page.locator(`html[data-theme=${theme}]`).waitFor();
    try {
      await page.goto("/console/sign-in");
      await untilTheme("dark");
      await page.emulateMedia({ colorScheme: "light" });
      await untilTheme("light");
      await page.getByRole("button", { name: "Theme" }).click();
      await page.getByRole("menuitemradio", { name: "Dark" }).click();
      await untilTheme("dark");
      await page.reload();
      await untilTheme("dark");
      await page.getByRole("button", { name: "Theme" }).click();
      await page.getByRole("menuitemradio", { name: "System" }).click();
      await untilTheme("light");
    } finally {
      await browser.close();
    }
  });
});

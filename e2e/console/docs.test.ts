/** A reader comes from the gateway's bare URL through the docs to a first call with copied code, and to the console. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createDataDir, type Platform, removeDataDir, startPlatform } from "@tollgate/stage/dev-platform.ts";
import { hangSignal } from "@tollgate/stage/wait.ts";
import {
  buildConsole,
  copyWithButton,
  NEEDS_CHROMIUM,
  openBrowser,
  openSession,
  waitUntilEqual,
} from "./console-browser.ts";

/** Runs a program in the folder with the suite's packages, and returns its output. */
async function said(program: string, args: string[]): Promise<string> {
  const cwd = fileURLToPath(new URL("..", import.meta.url));
  const { stdout } = await promisify(execFile)(program, args, { cwd, signal: hangSignal() });
  return stdout;
}

/** Fills in the values that a reader fills in: a key, and a model that this platform serves. */
const ready = (code: string, apiKey: string): string =>
  code.replace("tsk_live_your_key", apiKey).replaceAll("small-8b", "tiny-3b");

describe("the docs site", NEEDS_CHROMIUM, () => {
  let dataDir: string;
  let platform: Platform;

  before(async () => {
    buildConsole();
    dataDir = await createDataDir();
    platform = await startPlatform(dataDir, ["--engine", "scripted", "--models", "tiny-3b"]);
  });
  after(async () => {
    await platform?.stop();
    await removeDataDir(dataDir);
  });

  test("pages show every sample in the chosen language, their code works when copied, and they link to the console and back", async () => {
    const { gateway_url: baseUrl, api_key: apiKey } = platform.ready;
    const browser = await openBrowser({ baseUrl });
    const { page } = browser;
    try {
      await page.goto("/");
      await page.getByText(`${baseUrl}/v1`, { exact: true }).waitFor();
      await page.getByRole("main").getByRole("link", { name: "Docs" }).click();
      const shown = page.locator(".samples figure:visible");
      const copyFirst = async (): Promise<string> => {
        const code = await copyWithButton(page, page.getByRole("button", { name: /^Copy: The first call/ }));
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
      await waitUntilEqual("examples in TypeScript", () => typescript.count(), examples);
      await page.reload();
      await waitUntilEqual("examples: one language at a time", () => shown.count(), examples);
      const code = ready(await copyFirst(), apiKey);
      assert.match(code, /new OpenAI\(\{/);
      assert.match(await said(process.execPath, ["--input-type=module", "-e", code]), /\w/);
      const contents = page.getByRole("navigation", { name: "Contents" });
      await contents.getByRole("link", { name: "Create embeddings" }).click();
      await contents.locator('[aria-current="location"]').getByText("Create embeddings").waitFor();
      await page.getByRole("combobox", { name: "Theme" }).selectOption("dark");
      await openSession(page, platform.ready.builder);
      await page.getByRole("link", { name: "API keys" }).click();
      await page.getByRole("heading", { name: "API keys", exact: true }).waitFor();
      // The console and the docs share the theme.
      await page.locator("html[data-theme=dark]").waitFor();
      await page.getByRole("navigation", { name: "Console" }).getByRole("link", { name: "Docs" }).click();
      await page.getByRole("heading", { name: "Tollgate API" }).waitFor();
      assert.deepEqual(browser.complaints(), []);
    } finally {
      await browser.close();
    }
  });

  test("a reader finds a heading and an API operation with only the keyboard", async () => {
    const browser = await openBrowser({ baseUrl: platform.ready.gateway_url });
    const { page } = browser;
    try {
      await page.goto("/docs/guide");
      const box = page.getByRole("combobox", { name: "Search the docs" });
      const chosen = page.locator('[role="option"][aria-selected="true"]');
      await page.keyboard.press("/");
      await page.keyboard.type("list models");
      await chosen.first().waitFor();
      await page.getByRole("option", { name: /^List models API reference/ }).waitFor();
      const first = await chosen.getAttribute("id");
      await page.keyboard.press("ArrowDown");
      await waitUntilEqual(
        "the second result is chosen",
        async () => (await chosen.getAttribute("id")) === first,
        false,
      );
      assert.equal(await box.getAttribute("aria-activedescendant"), await chosen.getAttribute("id"));
      await page.keyboard.press("ArrowUp");
      const target = (await chosen.getAttribute("href")) ?? "";
      await page.keyboard.press("Enter");
      await page.waitForURL((url) => `${url.pathname}${url.hash}` === target);
      await box.fill("zzqxv");
      await page.getByText(/^Nothing found for/).waitFor();
      await page.keyboard.press("Escape");
      await waitUntilEqual("the list is closed", () => box.getAttribute("aria-expanded"), "false");
      assert.deepEqual(browser.complaints(), []);
    } finally {
      await browser.close();
    }
  });

  test("a signed-in reader copies samples that contain the gateway's URL and the reader's own key, and the samples work", async () => {
    const { gateway_url: baseUrl, builder } = platform.ready;
    const browser = await openBrowser({ baseUrl });
    const { page } = browser;
    try {
      await page.goto("/docs");
      const bar = page.getByRole("region", { name: "API key in the examples" });
      await bar.getByRole("link", { name: "Sign in" }).waitFor();
      await openSession(page, builder);
      await page.reload();
      await bar.getByRole("button", { name: "Use my own API key in these examples" }).click();
      await bar.getByText("The examples show your API key “Docs examples”.").waitFor();
      const copied = await copyWithButton(page, page.getByRole("button", { name: /^Copy: The first call with curl/ }));
      assert.match(copied, /tsk_live_\w{12}_\w{43}/);
      assert.ok(copied.startsWith(`curl ${baseUrl}/v1/chat/completions`));
      assert.match(await said("bash", ["-c", copied.replaceAll("small-8b", "tiny-3b")]), /"object":"chat\.completion"/);
      await page.reload();
      await bar.getByText("The examples show your API key “Docs examples”.").waitFor();
      assert.equal(await page.locator("[data-key]").first().textContent(), /tsk_live_\w+/.exec(copied)?.[0]);
      const [keys] = await platform.query<{ count: string }>(
        "select count(*) from api_key where name = 'Docs examples' and expires_at > now()",
      );
      assert.equal(keys?.count, "1", "the key is made once for a tab");
      await page.evaluate(
        `document.querySelector("figure[data-language=curl] pre").textContent = "$ tollgate dev \\\\\\n  --port 0\\nready\\n$ ls"`,
      );
      const commands = await copyWithButton(
        page,
        page.getByRole("button", { name: /^Copy: The first call with curl/ }),
      );
      assert.equal(commands, "tollgate dev \\\n  --port 0\nls", "commands without prompts and output");
      await page.context().clearCookies();
      await page.reload();
      await bar.getByRole("link", { name: "Sign in" }).waitFor();
      assert.equal(await page.locator("[data-key]").first().textContent(), "tsk_live_your_key");
      assert.deepEqual(browser.complaints(), []);
    } finally {
      await browser.close();
    }
  });

  test("a signed-in host sees their own host token in the samples, and the token works", async () => {
    const { gateway_url: baseUrl, builder } = platform.ready;
    const browser = await openBrowser({ baseUrl });
    const { page } = browser;
    try {
      await page.goto("/docs/guide/hosts/earnings");
      await openSession(page, builder);
      await page.reload();
      const bar = page.getByRole("region", { name: "Host token in the examples" });
      await bar.getByRole("button", { name: "Use my own host token in these examples" }).click();
      await bar.getByText("The examples show your host token “Docs examples”.").waitFor();
      const token = (await page.locator('[data-key="host"]').first().textContent()) ?? "";
      assert.match(token, /^tht_live_\w{12}_\w{43}$/);
      const answer = await fetch(`${baseUrl}/node/v1/nodes`, { headers: { authorization: `Bearer ${token}` } });
      assert.equal(answer.status, 200);
      assert.deepEqual(browser.complaints(), []);
    } finally {
      await browser.close();
    }
  });

  test("a reader whose role cannot create keys sees a message", async () => {
    const browser = await openBrowser({ baseUrl: platform.ready.gateway_url });
    const { page } = browser;
    try {
      await page.route("**/console/api/auth/get-session", async (route) => {
        const account = {
          id: "acc_1",
          kind: "builder",
          name: "Lovelace",
          role: "viewer",
          may: ["read"],
          suspended: false,
        };
        await route.fulfill({ json: { identity: { id: "usr_1" }, accounts: [account] } });
      });
      await page.goto("/docs");
      await page
        .getByText("Your role in Lovelace (viewer) cannot create API keys. Ask an owner of the account.")
        .waitFor();
      assert.deepEqual(browser.complaints(), []);
    } finally {
      await browser.close();
    }
  });
});

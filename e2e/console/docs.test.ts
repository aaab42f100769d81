/** From the bare address over the docs to a first call with copied code, and on to the console. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { newDataDir, type Platform, removeDataDir, startPlatform } from "@tollgate/stage/dev.ts";
import { hangSignal } from "@tollgate/stage/wait.ts";
import { buildConsole, copiedBy, NEEDS_CHROMIUM, openBrowser, openSession, untilIs } from "./browser.ts";

/** What a program prints, run where the suite's own packages are. */
async function said(program: string, args: string[]): Promise<string> {
  const cwd = fileURLToPath(new URL("..", import.meta.url));
  const { stdout } = await promisify(execFile)(program, args, { cwd, signal: hangSignal() });
  return stdout;
}

/** Code of the page with what a reader puts into it: a key, and a model that this platform serves. */
const ready = (code: string, apiKey: string): string =>
  code.replace("tsk_live_your_key", apiKey).replaceAll("small-8b", "tiny-3b");

describe("the docs", NEEDS_CHROMIUM, () => {
  let dataDir: string;
  let platform: Platform;

  before(async () => {
    buildConsole();
    dataDir = await newDataDir();
    platform = await startPlatform(dataDir, ["--engine", "scripted", "--models", "tiny-3b"]);
  });
  after(async () => {
    await platform?.stop();
    await removeDataDir(dataDir);
  });

  test("show every example in the chosen language, give code that works when copied, and lead to the console and back", async () => {
    const { gateway_url: baseUrl, api_key: apiKey } = platform.ready;
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
      await contents.getByRole("link", { name: "Create embeddings" }).click();
      await contents.locator('[aria-current="location"]').getByText("Create embeddings").waitFor();
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
});

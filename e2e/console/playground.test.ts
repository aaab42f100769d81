/** The playground and the models, with a real platform and a node that answers as it is told. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { after, before, describe, test } from "node:test";
import type { Page } from "playwright-core";
import { ConsoleClient } from "../console-client.ts";
import { lastRecord } from "../ledger-check.ts";
import { eventually, newDataDir, type Platform, removeDataDir, startPlatform } from "../platform.ts";
import { type BrowserSession, buildConsole, NEEDS_CHROMIUM, openBrowser, openSession, signIn } from "./browser.ts";

const order = (orders: object): string => `#script ${JSON.stringify(orders)}`;
/** Picodollars as the console writes them exactly. */
const exact = (pico: string): string => {
  const digits = pico.padStart(13, "0");
  const part = digits.slice(-12).replace(/0+$/, "").padEnd(2, "0");
  return `$${digits.slice(0, -12)}.${part}`;
};

describe("the playground", NEEDS_CHROMIUM, () => {
  let dataDir: string;
  let platform: Platform;
  let browser: BrowserSession;
  let page: Page;

  before(async () => {
    buildConsole();
    dataDir = await newDataDir();
    platform = await startPlatform(dataDir, ["--engine", "scripted", "--models", "tiny-3b,reason-32b"]);
    browser = await openBrowser({ baseUrl: platform.ready.base_url });
    page = browser.page;
    await openSession(page, platform.ready.builder);
  });
  after(async () => {
    await browser?.close();
    await platform?.stop();
    await removeDataDir(dataDir);
  });

  const say = async (text: string): Promise<void> => {
    await page.getByLabel("Message", { exact: true }).fill(text);
    await page.keyboard.press("Enter");
  };
  const lastCost = () => page.getByTestId("cost").last().locator("data");

  test("a model is chosen from the price sheet, and a key made for it", async () => {
    await page.goto("/console/models");
    await page.getByRole("row", { name: /small-8b.*no nodes online/ }).waitFor();
    await page.getByRole("link", { name: "Try reason-32b" }).click();
    await page.getByRole("heading", { name: "Playground", exact: true }).waitFor();
    assert.equal(await page.getByLabel("Model", { exact: true }).inputValue(), "reason-32b");
    await page.getByRole("button", { name: "Create a key for the playground" }).click();
    await page.getByText("No messages yet").waitFor();
    // 512 tokens of output at $0.30 a million are the most of it.
    assert.match(await page.getByText(/^Reserves/).innerText(), /\$0\.00015.* up to 512 output tokens/);
  });

  test("an answer comes as it is written, with its thinking apart, its tokens and its exact cost", async () => {
    const text = "The answer is forty two, as it was before and will be again.";
    await page.getByLabel("Message", { exact: true }).fill(order({ text, reasoning: "Let me think.", delta_ms: 60 }));
    await page.getByText(/^Reserves \$.* prompt tokens/).waitFor();
    const reserved = await page.locator("#playground-hold data").first().getAttribute("value");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Stop" }).waitFor();
    const answer = page.getByTestId("answer");
    await answer.waitFor();
    const first = await answer.innerText();
    assert.ok(text.startsWith(first) && first.length < text.length, `only a part was there: ${first}`);
    await lastCost().waitFor();
    assert.equal(await answer.innerText(), text);
    // The thinking came before: a speed of all tokens over the time of the answer would be none.
    await page.getByText("answer started after").waitFor();
    assert.equal(await page.getByText("tokens/s").count(), 0);
    await page.getByText("Reasoning", { exact: true }).click();
    await page.getByText("Let me think.", { exact: true }).waitFor();

    const record = await eventually("the record", async () => {
      const row = await lastRecord(platform);
      return row.model === "reason-32b" && row;
    });
    assert.equal(reserved, exact(record.hold_pico), "what it reserves was said to the last digit");
    assert.equal(await lastCost().getAttribute("value"), exact(record.charge_pico));
    await page.getByText(`${record.prompt_tokens} in, ${record.completion_tokens} out`).waitFor();
  });

  test("stopping stops the node, and what was generated until then is what it costs", async () => {
    await say(order({ tokens: 400, delta_ms: 25 }));
    await page.getByTestId("answer").nth(1).waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByText("stopped by you").waitFor();
    await page.getByTestId("cost").nth(1).waitFor();
    const record = await lastRecord(platform);
    assert.equal(record.outcome, "client_closed");
    assert.ok(record.completion_tokens > 0 && record.completion_tokens < 400);
    assert.equal(await lastCost().getAttribute("value"), exact(record.charge_pico));
  });

  test("stopped before its first token it is charged for its prompt, and says so", async () => {
    const host = await new ConsoleClient(platform).signIn(platform.ready.builder);
    const { data } = await host.get<{ data: { id: string }[] }>("nodes");
    // As late as a first token may be; all that is done meanwhile is to look and to press the button.
    await say(order({ tokens: 50, ttft_ms: 1_900 }));
    await eventually("the node works on it", async () => {
      const { stats } = await host.get<{ stats: { busy: number } }>(`nodes/${data[0]?.id}`);
      return stats.busy > 0;
    });
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByTestId("cost").nth(2).waitFor();
    const record = await lastRecord(platform);
    assert.deepEqual([record.outcome, record.completion_tokens], ["client_closed", 0]);
    assert.equal(await lastCost().getAttribute("value"), exact(record.charge_pico));
  });

  test("what a model writes is shown as it is, and never run", async () => {
    const text = "# One <img src=x onerror=alert(1)> **two** <script>alert(2)</script>";
    await say(order({ text }));
    await page.getByTestId("cost").nth(3).waitFor();
    assert.equal(await page.getByTestId("answer").last().innerText(), text);
    assert.equal(await page.locator("article img, article script").count(), 0);
    // However long the conversation, it scrolls in its own place: the page ends below what is seen.
    const beyond = `document.documentElement.scrollHeight - document.querySelector("main").getBoundingClientRect().bottom - scrollY`;
    assert.ok(Number(await page.evaluate(beyond)) < 2);
  });

  test("a node that fails is said, with what was billed", async () => {
    await say(order({ tokens: 50, fail_after: 10 }));
    await page.getByText("upstream_failed").waitFor();
    await page.getByTestId("cost").nth(4).waitFor();
    assert.equal(await lastCost().getAttribute("value"), exact((await lastRecord(platform)).charge_pico));
  });

  test("a setting that the API would refuse keeps the message from being sent", async () => {
    await page.getByLabel("Message", { exact: true }).fill("Hello");
    await page.getByLabel("Max output tokens").fill("0");
    await page.getByText("A whole number from 1").waitFor();
    assert.ok(await page.getByRole("button", { name: "Send" }).isDisabled());
    await page.getByLabel("Max output tokens").fill("64");
    assert.ok(await page.getByRole("button", { name: "Send" }).isEnabled());
  });

  test("the same as code, with the key left out", async () => {
    await page.getByLabel("Message", { exact: true }).fill('Say it\'s "fine"');
    await page.getByRole("button", { name: "Copy as code" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Copy the curl example" }).click();
    const curl = await page.evaluate<string>("navigator.clipboard.readText()");
    assert.match(curl, /"max_tokens": 64/);
    assert.match(curl, /tsk_live_YOUR_KEY/);
    const ran = execFileSync("sh", ["-c", curl.replace("tsk_live_YOUR_KEY", platform.ready.api_key)], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
    assert.match(ran, /chat\.completion\.chunk[\s\S]*\[DONE\]/);
    await page.keyboard.press("Escape");
  });

  test("the key is forgotten when its person signs out", async () => {
    assert.match(String(await page.evaluate("sessionStorage.getItem('tollgate.playground')")), /tsk_live_/);
    await page.getByRole("button", { name: /Accounts and settings/ }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    assert.equal(await page.evaluate("sessionStorage.getItem('tollgate.playground')"), null);
    assert.deepEqual(browser.complaints(), []);
  });

  test("where nothing can be bought the credits page says so", async () => {
    await signIn(page, platform.ready.builder);
    await page.goto("/console/credits");
    await page.getByText("Purchases are not available").waitFor();
    await page.getByText("credit of a development platform").filter({ visible: true }).waitFor();
    // The browser itself remarks on the 404 that says it.
    assert.deepEqual(
      browser.complaints().filter((said) => !/404/.test(said)),
      [],
    );
  });

  test("without credit it says so before the message is sent, and the API says it after", async () => {
    const poor = await openBrowser({ baseUrl: platform.ready.base_url });
    try {
      await poor.page.goto("/console/sign-up");
      await poor.page.getByLabel("Your name").fill("Poor Tom");
      await poor.page.getByLabel("E-mail").fill("tom@example.com");
      await poor.page.getByLabel("Password", { exact: true }).fill("a long enough password");
      await poor.page.getByRole("button", { name: "Create account" }).click();
      await poor.page.getByLabel("Name").fill("Tom's");
      await poor.page.getByRole("button", { name: "Create builder account" }).click();
      await poor.page.getByRole("link", { name: "Playground" }).click();
      await poor.page.getByRole("button", { name: "Create a key for the playground" }).click();
      await poor.page.getByText("This exceeds your available credit").waitFor();
      await poor.page.getByLabel("Message", { exact: true }).fill("Hello?");
      await poor.page.keyboard.press("Enter");
      await poor.page.getByText("insufficient_credits").waitFor();
      await poor.page.getByText("Nothing was billed").waitFor();
    } finally {
      await poor.close();
    }
  });
});

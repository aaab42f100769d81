/**
 * A builder's journey in the browser: signing up, a first request and its receipt, keyboard use, a purchase, the
 * playground, and the end of a session.
 */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import { createDataDir, type Platform, removeDataDir, startPlatform } from "@tollgate/stage/dev-platform.ts";
import { readLastRecord } from "@tollgate/stage/ledger-check.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import type { Page } from "playwright-core";
import { ConsoleClient } from "../../console-client.ts";
import {
  type BrowserSession,
  buildConsole,
  copyWithButton,
  countClicks,
  NEEDS_CHROMIUM,
  openBrowser,
  waitUntilEqual,
} from "../console-browser.ts";
import { formatDollars, parseDollars } from "../dollar-amounts.ts";
import { grantCreditAsOperator } from "../find-account-and-grant-credit.ts";
import { LONG_ANSWER, Playground, scriptMessage, waitForRecordAfter } from "../playground-page.ts";
import { runProgram, TOLLGATE_PROGRAM } from "../run-shown-commands.ts";

const SECRET = /tsk_live_\w{12}_\w{43}/;
const CHECKOUT = /\/console\/credits\?purchase=(done|cancelled)&checkout=pay_[0-9a-z]{26}$/;

describe("a builder's journey", NEEDS_CHROMIUM, () => {
  let dataDir: string;
  let platform: Platform;
  let paymentsUrl: string;
  let browser: BrowserSession;
  let page: Page;
  let playground: Playground;

  before(async () => {
    buildConsole();
    dataDir = await createDataDir();
    const models = ["--models", "tiny-3b,reason-32b"];
    platform = await startPlatform(dataDir, ["--engine", "scripted", ...models, "--payments", "demo"]);
    paymentsUrl = (platform.ready as unknown as { payments_url: string }).payments_url;
    browser = await openBrowser({ baseUrl: platform.ready.gateway_url, still: true });
    page = browser.page;
    playground = new Playground(page);
  });
  after(async () => {
    await browser?.close();
    await platform?.stop();
    await removeDataDir(dataDir);
  });

  const balance = async (): Promise<bigint> => {
    const [row] = await platform.query<{ balance: string }>(
      "select balance from ledger_book join account using (id) where name = 'Analytical engines'",
    );
    return BigInt(row?.balance ?? 0);
  };
  /** Sends a chat as a client with this key would. */
  const chat = async (key: string, content: string): Promise<string> => {
    const response = await fetch(`${platform.ready.gateway_url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "tiny-3b", messages: [{ role: "user", content }], max_tokens: 50 }),
    });
    assert.equal(response.status, 200, await response.clone().text());
    const { id } = (await response.json()) as { id: string };
    return id.replace("chatcmpl-", "req_");
  };

  test("a builder signs up, creates a key, makes a request within 8 clicks and verifies its receipt", async (t) => {
    const { clicks } = await countClicks(page);
    await page.goto("/console/");
    await page.getByRole("link", { name: "Create account" }).click();
    await page.getByRole("heading", { name: "Create account" }).waitFor();
    await page.getByLabel("Your name").fill("Ada");
    await page.getByLabel("Email").fill("ada@example.com");
    await page.getByLabel("Password", { exact: true }).fill("a long enough password");
    await page.getByRole("button", { name: "Create account" }).click();

    await page.getByRole("heading", { name: "Choose an account type" }).waitFor();
    await page.getByLabel("Name").fill("Analytical engines");
    await page.getByRole("button", { name: "Create builder account" }).click();
    await page.getByRole("heading", { name: "Make your first request" }).waitFor();
    await page.getByText("Your balance is $0.00").waitFor();

    const operator = await new ConsoleClient(platform).signIn(platform.ready.operator);
    await grantCreditAsOperator(operator, "Analytical engines", 2);
    // The page shows the request live, without any action by the user.
    await page.getByRole("definition").filter({ hasText: "$2.00" }).first().waitFor();

    await page.getByRole("button", { name: "Create a key" }).click();
    await page.getByRole("dialog").getByLabel("Name").fill("first key");
    await page.getByRole("button", { name: "Create key" }).click();
    await page.getByText("Copy it now").waitFor();
    const key = SECRET.exec(await page.getByRole("dialog").innerText())?.[0];
    assert.ok(key !== undefined, "the secret is shown");
    assert.equal(await copyWithButton(page, page.getByRole("button", { name: "Copy" })), key);
    await page.getByRole("button", { name: /^I saved the/ }).click();
    await page.getByRole("region", { name: "curl example" }).getByText(key).first().waitFor();
    assert.ok(clicks() > 0 && clicks() <= 8, `${clicks()} clicks from signing up to the first request`);
    t.diagnostic(`${clicks()} clicks from signing up to the first request`);
    // After a visit to another page, the sample still contains the key.
    await page.getByRole("link", { name: "Models", exact: true }).click();
    await page.getByRole("heading", { name: "Models" }).waitFor();
    await page.getByRole("link", { name: "Overview", exact: true }).click();
    await page.getByRole("region", { name: "curl example" }).getByText(key).first().waitFor();

    const requestId = await chat(key, "Hello");
    await page.getByText("Your first request has arrived.").waitFor();
    await page
      .getByRole("table", { name: "Latest requests" })
      .getByRole("cell", { name: "tiny-3b", exact: true })
      .waitFor();

    await page.getByRole("link", { name: "Requests", exact: true }).click();
    const row = page.getByRole("table", { name: "Requests" }).getByRole("row").nth(1);
    await row.getByText("first key").waitFor();
    await row.click();
    const drawer = page.getByRole("dialog");
    await drawer.getByText(requestId, { exact: true }).waitFor();
    assert.equal(new URL(page.url()).searchParams.get("request"), requestId);

    const [download] = await Promise.all([
      page.waitForEvent("download"),
      drawer.getByRole("button", { name: "Download receipt" }).click(),
    ]);
    assert.equal(download.suggestedFilename(), `${requestId}.receipt.json`);
    const receipt = JSON.parse(await readFile(await download.path(), "utf8")) as Record<string, string>;
    assert.equal(receipt.request_id, requestId);
    const check = (await drawer.locator("pre").innerText()).replace(
      download.suggestedFilename(),
      await download.path(),
    );
    const [, ...args] = check.trim().split(/\s+/);
    assert.match(runProgram(process.execPath, [TOLLGATE_PROGRAM, ...args]), /: valid/);

    // The secret is shown only once, so the keys page does not contain it.
    await page.goto("/console/keys");
    await page.getByText("first key").waitFor();
    assert.doesNotMatch(await page.content(), SECRET);
    assert.deepEqual(browser.complaints(), []);
  });

  test("a key is created with only the keyboard, and the focus returns to the button that opened the dialog", async () => {
    await page.goto("/console/overview");
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await tabTo(page, "API keys");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "API keys" }).waitFor();
    // After navigation the focus is at the beginning of the new page.
    await page.locator("#main:focus").waitFor();
    await tabTo(page, "Create key");
    await page.keyboard.press("Enter");
    await page.getByLabel("Name").and(page.locator(":focus")).waitFor();
    await page.keyboard.type("typed");
    await page.keyboard.press("Enter");
    await page.getByText("Copy it now").waitFor();
    await page.getByRole("button", { name: "Copy" }).and(page.locator(":focus")).waitFor();
    // Tab keeps the focus inside the open dialog.
    for (let presses = 0; presses < 6; presses += 1) {
      await page.keyboard.press("Tab");
      assert.equal(await page.evaluate("document.activeElement.closest('[role=dialog]') !== null"), true);
    }
    await tabTo(page, "I saved the key");
    await page.keyboard.press("Enter");
    await page.getByText("typed", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Create key" }).and(page.locator(":focus")).waitFor();
    assert.deepEqual(browser.complaints(), []);
  });

  test("a purchase leads back to the console, with the credit available and on the statement", async () => {
    const before = await balance();
    await page.getByRole("link", { name: "Credits", exact: true }).click();
    await page.getByText("a journey of the console").filter({ visible: true }).waitFor();
    const available = page.getByLabel("Credit", { exact: true }).getByRole("definition").first();
    await waitUntilEqual("the available credit", () => available.innerText(), formatDollars(before));
    await page.getByRole("button", { name: "Buy $20 of credits", exact: true }).click();
    await page.waitForURL(`${paymentsUrl}/**`);
    await page.getByRole("button", { name: "Pay", exact: true }).click();
    await page.waitForURL(CHECKOUT);
    await page.getByText(/\$20\.00\d* of credit has been added/).waitFor();
    await page.getByRole("row", { name: /purchase.*\+\$20\.00/ }).waitFor();
    await waitUntilEqual(
      "the available credit",
      () => available.innerText(),
      formatDollars(before + parseDollars("$20.00")),
    );
    assert.equal(await balance(), before + parseDollars("$20.00"));
    await page.getByRole("button", { name: "Dismiss" }).click();
    await page.waitForURL(/\/console\/credits$/);
    await page.getByText("has been added").waitFor({ state: "detached" });
    // The only requests to another origin are for the payment provider's pages. These have no icon, which browsers
    // request automatically (404).
    const expected = new RegExp(`^request to ${new URL(paymentsUrl).origin}$|404`);
    assert.deepEqual(
      browser.complaints().filter((said) => !expected.test(said)),
      [],
    );
  });

  test("the price sheet opens the playground with the chosen model, without a key", async () => {
    await page.getByRole("link", { name: "Models", exact: true }).click();
    await page.getByRole("row", { name: /small-8b.*no nodes online/ }).waitFor();
    await page.getByRole("link", { name: "Try reason-32b" }).click();
    await page.getByRole("heading", { name: "Playground", exact: true }).waitFor();
    await waitUntilEqual("the model", () => page.getByLabel("Model", { exact: true }).inputValue(), "reason-32b");
    await page.getByText("No messages yet").waitFor();
    // 512 output tokens at $0.30 per million tokens are most of the reserved amount.
    await page
      .getByText(/^Reserves/)
      .filter({ hasText: /\$0\.00015.* up to 512 output tokens/ })
      .waitFor();
  });

  test("the playground shows an answer, its reasoning separately, its tokens and its exact cost", async () => {
    const text = "The answer is forty two, as it was before and will be again.";
    await playground.message.fill(scriptMessage({ text, reasoning: "Let me think." }));
    await page.getByText(/^Reserves \$.* prompt tokens/).waitFor();
    const reserved = await page.locator("#playground-hold data").first().getAttribute("value");
    await page.keyboard.press("Enter");
    await playground.untilEnded();
    assert.equal(await playground.answer.innerText(), text);
    await page.getByText("first token after").waitFor();
    await page.getByText("Reasoning", { exact: true }).click();
    await page.getByText("Let me think.", { exact: true }).waitFor();

    const record = await eventually("the record", async () => {
      const row = await readLastRecord(platform);
      return row.model === "reason-32b" && row;
    });
    assert.equal(reserved, formatDollars(BigInt(record.hold_pico)), "what it reserves was said to the last digit");
    assert.equal(await playground.cost.getAttribute("value"), formatDollars(BigInt(record.charge_pico)));
    await page.getByText(`${record.prompt_tokens} in, ${record.completion_tokens} out`).waitFor();
  });

  test("the playground shows an answer while it is generated; when stopped, it shows the text so far and its cost", async () => {
    const before = await readLastRecord(platform);
    await playground.say(scriptMessage(LONG_ANSWER));
    const part = playground.answer.filter({ hasText: /\w/ });
    await page.getByTestId("answer").nth(1).waitFor();
    await part.waitFor();
    const first = await part.innerText();
    // The text grows while the model answers.
    await eventually("there is more of it", async () => {
      const more = await part.innerText();
      return more.startsWith(first) && more.length > first.length;
    });
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByText("stopped by you").waitFor();
    await playground.untilEnded();
    const record = await waitForRecordAfter(platform, before.id);
    assert.equal(record.outcome, "client_closed");
    assert.ok(record.completion_tokens > 0 && record.completion_tokens < LONG_ANSWER.tokens);
    assert.equal(await playground.cost.getAttribute("value"), formatDollars(BigInt(record.charge_pico)));
  });

  test("an ended session leads to the sign-in page, and signing in leads back to the same page", async () => {
    await page.goto("/console/requests?model=tiny-3b");
    await page.getByRole("table", { name: "Requests" }).waitFor();
    // Ends the session only during the request for the filtered list: a page that reloads periodically would notice it
    // before.
    const asked = /\/console\/api\/requests\?.*outcome=ok/;
    await page.route(asked, async (route) => {
      await browser.context.clearCookies();
      await route.continue();
    });
    await page.getByRole("combobox", { name: "Filter" }).fill("outcome:ok");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    assert.equal(new URL(page.url()).searchParams.get("next"), "/requests?q=model%3Atiny-3b+outcome%3Aok");
    await page.unroute(asked);
    await page.getByLabel("Email").fill("ada@example.com");
    await page.getByLabel("Password", { exact: true }).fill("not the password");
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByRole("alert").getByText("wrong").waitFor();
    await page.getByLabel("Password", { exact: true }).fill("a long enough password");
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByRole("table", { name: "Requests" }).waitFor();
    await page.getByRole("button", { name: "Remove outcome:ok" }).waitFor();
    // The browser logs the 401 itself; no other message is expected.
    assert.deepEqual(
      browser.complaints().filter((said) => !said.includes("status of 401")),
      [],
    );
  });
});

/** The approximate accessible name (label, text or title) of the focused element. */
async function focusedName(page: Page): Promise<string> {
  return String(
    await page.evaluate(`(() => {
      const it = document.activeElement;
      return it.getAttribute("aria-label") ?? it.labels?.[0]?.innerText ?? it.innerText ?? "";
    })()`),
  );
}

/** Presses Tab until an element with this name has the focus. */
async function tabTo(page: Page, name: string): Promise<void> {
  for (let presses = 0; presses < 60; presses += 1) {
    await page.keyboard.press("Tab");
    if ((await focusedName(page)).trim() === name) return;
  }
  throw new Error(`Tab never reached ${name}`);
}

/** The tests of the search, of several accounts, of the first steps in an account, and of signing out. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { before, test } from "node:test";
import type { Platform } from "@tollgate/stage/dev-platform.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import type { Page } from "playwright-core";
import { ConsoleClient } from "../../console-client.ts";
import { type BrowserSession, copyWithButton, signIn } from "../console-browser.ts";
import { grantCreditAsOperator } from "../find-account-and-grant-credit.ts";
import { runProgram } from "../run-shown-commands.ts";
import type { BuilderConsole } from "./open-console.ts";

export function testAccounts(open: () => BuilderConsole): void {
  let platform: Platform;
  let browser: BrowserSession;
  let page: Page;
  let credit: BuilderConsole["credit"];
  let actFor: BuilderConsole["actFor"];
  before(() => {
    ({ platform, browser, page, credit, actFor } = open());
  });

  test("the Ctrl-K search opens a page, a key, a model or a request, and changes the theme", async () => {
    const field = page.getByRole("combobox", { name: /^Search/ });
    /** Presses Enter only once the wanted result is first, because keys and models appear a moment later. */
    const find = async (text: string, option: RegExp): Promise<void> => {
      await page.keyboard.press("Control+k");
      await field.fill(text);
      await page.getByRole("option", { name: option, selected: true }).waitFor();
      await page.keyboard.press("Enter");
      await field.waitFor({ state: "detached" });
    };
    await page.goto("/console/overview");
    await page.getByRole("button", { name: /^Search/ }).click();
    await field.and(page.locator(":focus")).waitFor();
    for (let i = 0; i < 5; i++) await page.keyboard.press("Tab");
    assert.ok(await page.evaluate("document.activeElement.closest('[role=dialog]') !== null"), "the focus stays in");
    await page.keyboard.press("Escape");
    await page
      .getByRole("button", { name: /^Search/ })
      .and(page.locator(":focus"))
      .waitFor();

    await find("requ", /^Requests/);
    await page.getByRole("heading", { name: "Requests", exact: true }).waitFor();
    await page.getByRole("table", { name: "Requests" }).getByRole("row").nth(2).click();
    await page.getByRole("dialog").getByText(/^req_/).first().waitFor();
    const request = await eventually("the request is in the address", () => {
      const id = new URL(page.url()).searchParams.get("request");
      return id !== null && id;
    });
    await page.keyboard.press("Escape");
    await find("sums", /^sums/);
    await page.getByRole("dialog", { name: /sums/ }).waitFor();
    assert.match(page.url(), /\/console\/keys\b.*key_/);
    await page.keyboard.press("Escape");
    await find(request, new RegExp(request));
    await page.getByRole("dialog").getByText(request, { exact: true }).waitFor();
    await page.keyboard.press("Escape");
    await find("tiny", /^tiny-3b/);
    await page.getByRole("heading", { name: "tiny-3b", exact: true }).waitFor();
    await find("dark", /dark/i);
    await page.locator("html[data-theme=dark]").waitFor();
    await find("system theme", /system/i);
    await page.locator("html[data-theme=light]").waitFor();
    await page.keyboard.press("Control+k");
    await field.fill("nothing like this");
    await page.getByText("Nothing found").waitFor();
    await page.keyboard.press("Control+k");
    await field.waitFor({ state: "detached" });
    assert.deepEqual(browser.complaints(), []);
  });

  test("a user with two builder accounts sees the data of one account at a time", async () => {
    // The old URL of this page redirects.
    await page.goto("/console/open-account");
    await page.waitForURL("**/console/accounts");
    await page.getByLabel("Name").fill("Second account");
    await page.getByRole("button", { name: "Create builder account" }).click();
    await page.getByRole("heading", { name: "Make your first request" }).waitFor();
    await page.goto("/console/keys");
    await page.getByText("No API keys yet").waitFor();
    await actFor("Analytical engines");
    await page.getByText("sums", { exact: true }).waitFor();

    // Switches accounts by keyboard. The search lists only the accounts that are not selected.
    const field = page.getByRole("combobox", { name: /^Search/ });
    const choose = async (account: string, others: string): Promise<void> => {
      await page.keyboard.press("Control+k");
      await field.fill("switch account");
      await page.getByRole("option", { name: new RegExp(`^${account}.*builder account`) }).waitFor();
      assert.equal(await page.getByRole("option", { name: new RegExp(`^${others}`) }).count(), 0);
      await page.keyboard.press("Enter");
      await field.waitFor({ state: "detached" });
    };
    await choose("Second account", "Analytical engines");
    await page.getByText("No API keys yet").waitFor();
    await choose("Analytical engines", "Second account");
    await page.getByText("sums", { exact: true }).waitFor();

    // The playground's conversation belongs to its account, and disappears when the user switches to the other one.
    await page.getByRole("link", { name: "Playground" }).click();
    await page.getByLabel("Message", { exact: true }).fill("Between us");
    await page.keyboard.press("Enter");
    await page.getByTestId("cost").waitFor();
    await actFor("Second account");
    await page.getByText("No messages yet").waitFor();
    await page.getByText("Between us").waitFor({ state: "detached" });
    await actFor("Analytical engines");
    await page.getByText("Between us").waitFor();

    // Live updates follow the selected account: the page shows changes of this account and none of the other.
    await page.getByRole("link", { name: "Overview" }).click();
    await credit("$1.99").waitFor();
    const operator = await new ConsoleClient(platform).signIn(platform.ready.operator);
    await grantCreditAsOperator(operator, "Second account", 7);
    await grantCreditAsOperator(operator, "Analytical engines", 1);
    await credit("$2.99").waitFor();
    assert.deepEqual(browser.complaints(), []);
  });

  test("the samples for a first request run exactly as they are copied", async () => {
    await actFor("Second account");
    await page.getByRole("button", { name: "Create a key" }).click();
    await page.getByRole("dialog").getByLabel("Name").fill("<b>émile</b> 🦊");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: /^I saved the/ }).click();
    const copied: Record<string, string> = {};
    for (const language of ["curl", "Python", "TypeScript"]) {
      await page.getByRole("tab", { name: language }).click();
      copied[language] = await copyWithButton(page, page.getByRole("button", { name: `Copy the ${language} example` }));
    }
    const { curl = "", Python = "", TypeScript = "" } = copied;
    assert.match(runProgram("sh", ["-c", curl]), /"finish_reason":"(stop|length)"/);
    await page.getByText("Your first request has arrived.").waitFor();
    assert.match(runProgram(process.execPath, ["--input-type=module", "--eval", TypeScript]), /\w+/);
    // Without the openai library, only the syntax of the Python sample is checked.
    const hasLibrary = spawnSync("python3", ["-c", "import openai"]).status === 0;
    if (hasLibrary) assert.match(runProgram("python3", ["-c", Python]), /\w+/);
    else if (spawnSync("python3", ["--version"]).status === 0) runProgram("python3", ["-m", "ast"], Python);
    await page.getByRole("link", { name: "API keys" }).click();
    await page.getByText("<b>émile</b> 🦊", { exact: true }).waitFor();
    assert.deepEqual(browser.complaints(), []);
  });

  test("a new key's dialog warns before it closes by Escape, a click outside or navigation, until the key was copied", async () => {
    await page.goto("/console/overview");
    await page.getByRole("link", { name: "API keys" }).click();
    await page.getByRole("button", { name: "Create key" }).click();
    await page.getByRole("dialog").getByLabel("Name").fill("warned");
    await page.keyboard.press("Enter");
    await page.getByText("Copy it now").waitFor();
    const warning = page.getByRole("dialog", { name: "Leave without copying the key?" });
    const leavings = [
      () => page.keyboard.press("Escape"),
      () => page.mouse.click(5, 5),
      () => page.evaluate("history.back()"),
    ];
    for (const leave of leavings) {
      await leave();
      await warning.waitFor();
      await warning.getByRole("button", { name: "Cancel" }).click();
      await page.getByText("Copy it now").waitFor();
    }
    assert.equal(new URL(page.url()).pathname, "/console/keys");
    await copyWithButton(page, page.getByRole("button", { name: "Copy", exact: true }));
    await page.keyboard.press("Escape");
    await page.getByText("Copy it now").waitFor({ state: "hidden" });
    assert.deepEqual(browser.complaints(), []);
  });

  test("signing out ends the session", async () => {
    await page.getByRole("button", { name: /Accounts and settings/ }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await page.goto("/console/keys");
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await signIn(page, platform.ready.builder);
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    assert.deepEqual(browser.complaints(), []);
  });
}

/**
 * Tests the Settings page: a person's choices apply on other pages, and accounts and persons can be exported and
 * deleted.
 */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import { sendScriptedChat } from "@tollgate/stage/builder-requests.ts";
import { createDataDir, type Platform, removeDataDir, startPlatform } from "@tollgate/stage/dev-platform.ts";
import type { Page } from "playwright-core";
import { type BrowserSession, buildConsole, NEEDS_CHROMIUM, openBrowser, openSession } from "./console-browser.ts";

describe("the settings page", NEEDS_CHROMIUM, () => {
  let dataDir: string;
  let platform: Platform;
  let browser: BrowserSession;
  let page: Page;

  before(async () => {
    buildConsole();
    dataDir = await createDataDir();
    platform = await startPlatform(dataDir, ["--engine", "scripted", "--models", "tiny-3b", "--payments", "demo"]);
    browser = await openBrowser({ baseUrl: platform.ready.gateway_url, still: true, timeZone: "America/New_York" });
    page = browser.page;
    await openSession(page, platform.ready.builder);
  });
  after(async () => {
    await browser?.close();
    await platform?.stop();
    await removeDataDir(dataDir);
  });

  /** The first time in the request table: as text, and as a Date. */
  const firstTime = async (): Promise<{ text: string; at: Date }> => {
    const time = page.getByRole("table", { name: "Requests" }).locator("time").first();
    return { text: await time.innerText(), at: new Date((await time.getAttribute("datetime")) ?? "") };
  };
  const clockIn = (timeZone: string, at: Date): string =>
    new Intl.DateTimeFormat("en-GB", { timeZone, timeStyle: "medium" }).format(at);

  test("a person's number format and time zone apply on every page, to typed amounts, and after a reload", async () => {
    const answer = await sendScriptedChat(platform, { text: "one" });
    assert.equal(answer.status, 200, await answer.text());
    await page.goto("/console/requests");
    const before = await firstTime();
    assert.ok(before.text.includes(clockIn("America/New_York", before.at)), before.text);

    await page.goto("/console/settings");
    await page.getByLabel("Number and date format").selectOption("de-DE");
    await page.getByLabel("Time zone").selectOption("Asia/Tokyo");
    await page
      .locator("form")
      .filter({ has: page.getByLabel("Time zone") })
      .getByRole("button", { name: "Save" })
      .click();
    await page.getByText(/Example: \$1\.234,50 · .* · Asia\/Tokyo \(UTC\+09:00\)/).waitFor();

    for (const reload of [false, true]) {
      if (reload) await page.reload();
      else await page.getByRole("link", { name: "Requests", exact: true }).click();
      await page.getByRole("table", { name: "Requests" }).waitFor();
      const after = await firstTime();
      assert.deepEqual(after.at, before.at);
      assert.ok(after.text.includes(clockIn("Asia/Tokyo", after.at)), after.text);
    }
    await page.goto("/console/credits");
    await page.getByLabel("Alert below ($)").fill("12,5");
    await page.getByText("Read as $12,50").waitFor();
    await page.getByRole("button", { name: "Turn on alert" }).click();
    await page.getByRole("button", { name: "Save alert" }).waitFor();
    const [kept] = await platform.query<{ mark: string }>("select mark::text as mark from credit_alert");
    assert.equal(kept?.mark, "12500000000000");
    await page.getByLabel("Alert below ($)").fill("1.234");
    await page.getByRole("button", { name: "Save alert" }).click();
    await page
      .getByText(/This amount can mean \$1\.234,00 or \$1,234/)
      .first()
      .waitFor();
  });

  test("an account is exported with one click, then deleted by typing its name; then the person is deleted", async () => {
    const [{ name } = { name: "" }] = await platform.query<{ name: string }>(
      "select name from account where kind = 'builder'",
    );
    await page.goto("/console/settings");
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name: `Export ${name}` }).click(),
    ]);
    const zip = await readFile(await download.path());
    assert.match(download.suggestedFilename(), /^acc_\w+\.zip$/);
    for (const file of ["account.json", "keys.json", "requests.csv", "statement.csv"]) {
      assert.ok(zip.includes(file), `${file} is in the export`);
    }
    await page.getByRole("button", { name: `Delete ${name}` }).click();
    const dialog = page.getByRole("dialog", { name: `Delete ${name}?` });
    await dialog.getByText(/You give up \$/).waitFor();
    const confirm = dialog.getByRole("button", { name: "Delete account" });
    await dialog.getByLabel(`Type “${name}” to confirm`).fill(name.toLowerCase());
    assert.equal(await confirm.isDisabled(), true);
    await dialog.getByLabel(`Type “${name}” to confirm`).fill(name);
    await confirm.click();
    await page.getByText(`Deleted ${name}`, { exact: true }).first().waitFor();
    await page.getByRole("button", { name: `Delete ${name}` }).waitFor({ state: "detached" });
    assert.equal((await sendScriptedChat(platform, { text: "two" })).status, 401);

    // A person can be deleted only after all of their accounts.
    const { email } = platform.ready.builder;
    const leave = async (): Promise<void> => {
      await page.getByRole("button", { name: "Delete me" }).click();
      const leaving = page.getByRole("dialog", { name: "Delete yourself?" });
      await leaving.getByLabel(`Type “${email}” to confirm`).fill(email);
      await leaving.getByRole("button", { name: "Delete me" }).click();
    };
    await leave();
    await page
      .getByText(/You are the only owner of/)
      .first()
      .waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    const [host] = await platform.query<{ name: string }>("select name from account where kind = 'host'");
    await page.getByRole("button", { name: `Delete ${host?.name}` }).click();
    await page.getByLabel(`Type “${host?.name}” to confirm`).fill(host?.name ?? "");
    await page.getByRole("button", { name: "Delete account" }).click();
    await page.getByText(`Deleted ${host?.name}`, { exact: true }).first().waitFor();
    await leave();
    await page.waitForURL(/\/console\/sign-in/);
    assert.deepEqual(await platform.query("select from identity where email = $1", [email]), []);
  });
});

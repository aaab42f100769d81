/** The tests of API keys: names, limits, rotation, revocation. */
import assert from "node:assert/strict";
import { before, test } from "node:test";
import type { Platform } from "@tollgate/stage/dev-platform.ts";
import { waitUntilRolledUp } from "@tollgate/stage/ledger-check.ts";
import type { Page } from "playwright-core";
import type { BrowserSession } from "../console-browser.ts";
import type { BuilderConsole } from "./open-console.ts";

export function testKeys(open: () => BuilderConsole): void {
  let browser: BrowserSession;
  let page: Page;
  let platform: Platform;
  let shownSecret: BuilderConsole["shownSecret"];
  let complaintsBut: BuilderConsole["complaintsBut"];
  let ask: BuilderConsole["ask"];
  let chat: BuilderConsole["chat"];
  before(() => {
    ({ browser, page, platform, shownSecret, complaintsBut, ask, chat } = open());
  });

  test("a builder renames and revokes a key, and revoked keys are listed separately", async () => {
    await page.goto("/console/keys");
    await page.getByText("first key").click();
    const drawer = page.getByRole("dialog", { name: "first key" });
    await drawer.getByRole("button", { name: "Edit" }).click();
    await page.getByRole("textbox", { name: "Name" }).fill("renamed");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("dialog", { name: "renamed" }).getByRole("button", { name: "Revoke" }).click();
    await page.getByRole("button", { name: "Revoke key" }).click();
    await page.getByRole("dialog", { name: "renamed" }).getByText("revoked", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Close" }).click();
    await page.getByText("renamed", { exact: true }).waitFor({ state: "detached" });
    await page.getByRole("radio", { name: "Revoked (1)" }).click();
    await page.getByText("renamed", { exact: true }).waitFor();
    assert.deepEqual(browser.complaints(), []);
  });

  test("a key can have a budget, an expiry and one allowed model, and each invalid value is reported at its field", async () => {
    await page.goto("/console/keys");
    await page.getByRole("button", { name: "Create key" }).first().click();
    const dialog = page.getByRole("dialog", { name: "Create API key" });
    await dialog.getByLabel("Name").fill("intern");
    await dialog.getByText("Budget, expiry, models, limits").click();
    const day = dialog.getByLabel("Daily budget ($)");
    await day.fill("ten");
    await dialog.getByLabel("Expires").fill("2020-01-01T00:00");
    await dialog.getByLabel("Selected models").check();
    await dialog.getByLabel("tiny-3b").check();
    await dialog.getByRole("button", { name: "Create key" }).click();
    await dialog.getByText("Enter an amount in dollars, such as 12.50.").waitFor();
    assert.equal(await day.getAttribute("aria-invalid"), "true");
    await day.fill("0.000001");
    await dialog.getByRole("button", { name: "Create key" }).click();
    await dialog.locator("p", { hasText: '"expires_at" must be in the future' }).waitFor();
    assert.equal(await dialog.getByLabel("Expires").getAttribute("aria-invalid"), "true");
    await dialog.getByLabel("Expires").fill("2999-01-01T00:00");
    await dialog.getByRole("button", { name: "Create key" }).click();
    const key = await shownSecret();

    const refused = await ask(key, "tiny-3b");
    assert.equal(refused.status, 402);
    assert.match(await refused.text(), /The daily budget of the API key \\"intern\\" does not cover this request/);
    assert.equal((await ask(key, "small-8b")).status, 404);

    const row = page.getByRole("row", { name: /intern/ });
    await row.getByText("tiny-3b").waitFor();
    await row.getByText("until Jan 1, 2999").waitFor();
    await row.click();
    const drawer = page.getByRole("dialog", { name: "intern" });
    await drawer.getByText("of $0.000001 today").waitFor();
    const address = page.url();
    assert.match(new URL(address).searchParams.get("key") ?? "", /^key_/);

    await drawer.getByRole("button", { name: "Edit" }).click();
    const edit = page.getByRole("dialog", { name: "Edit intern" });
    await edit.getByLabel("Daily budget ($)").fill("0.50");
    await edit.getByLabel("Requests per minute").fill("601");
    await edit.getByRole("button", { name: "Save" }).click();
    await edit.locator("p", { hasText: "must be 600 or less" }).waitFor();
    await edit.getByLabel("Requests per minute").fill("60");
    await edit.getByRole("button", { name: "Save" }).click();
    await drawer.getByText("of $0.50 today").waitFor();
    await drawer.getByText("60 (maximum 600)").waitFor();

    const id = await chat(key, "Hello");
    await waitUntilRolledUp(platform);
    // A URL with the ID of a key opens the drawer of this key, with its usage.
    await page.goto("/console/overview");
    await page.goto(address);
    await drawer.getByText("in the last 30 days", { exact: false }).first().waitFor();
    await drawer.getByRole("figure", { name: /Spend in the last 30 days/ }).waitFor();
    await drawer.getByText("1 in the last 30 days").waitFor();
    for (const name of ["First token, p95", "Duration, p95"]) {
      await drawer
        .locator(`dt:text-is("${name}") + dd`)
        .filter({ hasText: /^\d[\d.,]* m?s$/ })
        .waitFor();
    }
    await drawer
      .locator('dt:text-is("Error rate") + dd')
      .filter({ hasText: /^0\s?%$/ })
      .waitFor();
    const ofKey = await drawer.getByRole("link", { name: "Performance of this key" }).getAttribute("href");
    assert.equal(ofKey, `/console/performance?key=${new URL(address).searchParams.get("key")}`);
    await drawer.getByText("Ada", { exact: false }).waitFor();
    await drawer.getByRole("table", { name: "Latest requests" }).getByRole("button").first().click();
    await page.getByRole("dialog").getByText(id, { exact: true }).waitFor();
    assert.deepEqual(complaintsBut(400), []);
  });

  test("after a key is rotated, its old secret works only for the chosen time", async () => {
    await page.goto("/console/keys");
    await page.getByRole("row", { name: /intern/ }).click();
    const drawer = page.getByRole("dialog", { name: "intern" });
    const secrets: string[] = [];
    for (const keep of ["Expires in 1 hour", "Custom", "Expires now"]) {
      await drawer.getByRole("button", { name: "Rotate" }).click();
      await page.getByLabel("Old secret").selectOption({ label: keep });
      if (keep === "Custom") await page.getByLabel("Hours").fill("2");
      await page.getByRole("button", { name: "Rotate key" }).click();
      await page
        .getByText(keep === "Expires now" ? "The old secret no longer works." : "The old secret works until")
        .waitFor();
      secrets.push(await shownSecret());
      if (keep !== "Expires now") await drawer.getByText("old secret active").waitFor();
    }
    const [first, second, third] = secrets as [string, string, string];
    assert.equal((await ask(third, "tiny-3b")).status, 200);
    for (const gone of [first, second]) assert.equal((await ask(gone, "tiny-3b")).status, 401);
    await drawer.getByText("old secret active").waitFor({ state: "detached" });
    await drawer.getByRole("button", { name: "Rotate" }).click();
    await page.getByRole("button", { name: "Rotate key" }).click();
    const fourth = await shownSecret();
    for (const works of [third, fourth]) assert.equal((await ask(works, "tiny-3b")).status, 200);
    await drawer.getByRole("button", { name: "Revoke" }).click();
    await page.getByRole("button", { name: "Revoke key" }).click();
    await drawer.getByText("revoked", { exact: true }).waitFor();
    assert.equal(await drawer.getByRole("button", { name: "Rotate" }).count(), 0);
    assert.deepEqual(browser.complaints(), []);
  });
}

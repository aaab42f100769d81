/** The tests of a model's page, of the request list, and of notifications. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { before, test } from "node:test";
import type { Platform } from "@tollgate/stage/dev-platform.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import type { Locator, Page } from "playwright-core";
import { ConsoleClient } from "../../console-client.ts";
import { type BrowserSession, waitUntilEqual } from "../console-browser.ts";
import { runProgram } from "../run-shown-commands.ts";
import { ADA_SIGN_IN, type BuilderConsole } from "./open-console.ts";

export function testModelsAndRequests(open: () => BuilderConsole): void {
  let platform: Platform;
  let browser: BrowserSession;
  let page: Page;
  let untilSearch: BuilderConsole["untilSearch"];
  let firstKey: string;
  let chat: BuilderConsole["chat"];
  before(() => {
    ({ platform, browser, page, untilSearch, firstKey, chat } = open());
  });

  test("a model's page shows its build, price, availability, sample code, and a link to the playground", async () => {
    await page.goto("/console/models");
    await page.getByRole("table", { name: "Models" }).getByRole("link", { name: "tiny-3b", exact: true }).click();
    await page.getByRole("heading", { name: "tiny-3b", exact: true }).waitFor();
    const fact = (name: string): Locator =>
      page
        .getByRole("term")
        .filter({ hasText: new RegExp(`^${name}$`) })
        .locator("xpath=following-sibling::dd[1]");
    assert.equal(await fact("Build").innerText(), "tiny-3b-q4-1");
    assert.equal(await fact("Licence").innerText(), "not specified");
    assert.match(await fact("Input price").innerText(), /^\$0\.02\b.*per million tokens$/);
    const now = page.getByLabel("Now");
    await eventually("its node is shown", async () => /Nodes\s+1\b/.test(await now.innerText()));
    // The model's availability may be below 100 %: sampling may have begun before the node was online.
    const past = page.getByLabel("Whole period");
    await past
      .getByText(/^[1-9][\d.]* %$/)
      .first()
      .waitFor();
    await past
      .getByText(/\d ms|\d s/)
      .first()
      .waitFor();
    /** Waits until the chart shows a value. For a series without values it shows "no data". */
    const availability = (words: string): Locator =>
      page
        .getByRole("figure", { name: `Availability in ${words}` })
        .filter({ hasText: /(Available|Below [\d.]+ %): [\d.]+ % at / });
    await availability("the last 24 hours").waitFor();
    await page.getByRole("radio", { name: "30d" }).click();
    await availability("the last 30 days").waitFor();
    assert.equal(new URL(page.url()).searchParams.get("range"), "30d");
    await page.reload();
    await availability("the last 30 days").waitFor();

    const code = await page.getByRole("region", { name: "curl example" }).innerText();
    assert.match(code, new RegExp(`${platform.ready.gateway_url}/v1/chat/completions`));
    const answer = runProgram("sh", ["-c", `${code.replace("tsk_live_YOUR_KEY", platform.ready.api_key)} -s`]);
    assert.match(answer, /"object":"chat\.completion"/);
    await page.getByRole("link", { name: "Estimate cost" }).click();
    await page.getByRole("heading", { name: "Cost estimate" }).waitFor();
    await page.goBack();
    await page.getByRole("link", { name: "Try in the playground" }).click();
    await page.getByRole("heading", { name: "Playground", exact: true }).waitFor();
    assert.equal(new URL(page.url()).searchParams.get("model"), "tiny-3b");
    await page.goto("/console/models/no-such-model");
    await page.getByText("Not available").waitFor();
    assert.deepEqual(
      browser.complaints().filter((one) => !one.includes("status of 404")),
      [],
    );
  });

  test("filters of the request list are in the URL, survive a reload and apply to the export", async () => {
    await page.goto("/console/requests");
    const filter = page.getByRole("combobox", { name: "Filter" });
    await filter.fill("outcome:no_capacity");
    await page.keyboard.press("Enter");
    await page.getByText("No matching requests").waitFor();
    await untilSearch("?q=outcome%3Ano_capacity");
    await page.reload();
    await page.getByText("No matching requests").waitFor();
    await page.getByRole("button", { name: "Clear filters" }).click();
    await page.getByRole("table", { name: "Requests" }).waitFor();
    await filter.fill("model:tiny-3b");
    await page.keyboard.press("Enter");
    await untilSearch("?q=model%3Atiny-3b");
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Export CSV" }).click(),
    ]);
    const lines = (await readFile(await download.path(), "utf8")).trim().split("\r\n");
    assert.match(lines[0] ?? "", /^id,created_at/);
    assert.equal(lines.length, 2);
    assert.deepEqual(browser.complaints(), []);
  });

  test("a drag over the histogram or a selection by keyboard narrows the request list; views are saved by name; new requests appear unless paused", async () => {
    const ada = await new ConsoleClient(platform).signIn(ADA_SIGN_IN);
    await chat(firstKey, "Hello");
    await page.goto("/console/requests");
    const rows = page.getByRole("table", { name: "Requests" }).getByRole("row");
    const untilListed = (requests: number): Promise<void> =>
      waitUntilEqual("the requests below the header", async () => (await rows.count()) - 1, requests);
    await untilListed(2);
    const live = page.getByRole("button", { name: "Live" });
    assert.equal(await live.getAttribute("aria-pressed"), "true");
    await chat(firstKey, "Hello");
    await untilListed(3);
    await live.click();
    assert.equal(await live.getAttribute("aria-pressed"), "false");
    await chat(firstKey, "Hello");
    const { data } = await ada.send<{ data: unknown[] }>("GET", "requests");
    assert.equal(data.length, 4);
    assert.equal(await rows.count(), 4, "a paused list keeps its rows");
    await live.click();
    await untilListed(4);

    const histogram = page.getByRole("region", { name: "Requests over time" }).getByRole("application");
    await histogram.focus();
    for (const key of ["End", "Shift+ArrowLeft", "Shift+ArrowLeft", "Enter"]) await page.keyboard.press(key);
    await page.waitForURL(({ searchParams }) => searchParams.has("from") && searchParams.has("to"));
    await page.goBack();
    await untilSearch("");
    const box = (await histogram.boundingBox()) ?? assert.fail("the histogram is not shown");
    await page.mouse.move(box.x + box.width * 0.5, box.y + box.height / 2);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width - 1, box.y + box.height / 2, { steps: 4 });
    await page.mouse.up();
    await page.waitForURL(({ searchParams }) => searchParams.has("from"));
    const narrowed = new URL(page.url()).search;

    await page.getByRole("button", { name: "Views" }).click();
    await page.getByRole("menuitem", { name: "Save this view…" }).click();
    await page.getByRole("dialog").getByLabel("Name").fill("the last half");
    await page.getByRole("button", { name: "Save view" }).click();
    await page.goto("/console/requests");
    await untilListed(4);
    await page.getByRole("button", { name: "Views" }).click();
    await page.getByRole("menuitem", { name: "the last half" }).click();
    await untilSearch(narrowed);
    assert.deepEqual(browser.complaints(), []);
  });

  test("a webhook for notifications gets a secret, can be chosen as a channel, and its test is listed as a delivery", async () => {
    await page.goto("/console/notifications");
    const choice = page.getByRole("checkbox", { name: "Low credit to Webhook" });
    await choice.waitFor();
    assert.equal(await choice.isDisabled(), true);
    await page.getByLabel("Webhook URL", { exact: true }).fill("https://hooks.example.com/tollgate");
    await page.getByRole("button", { name: "Save", exact: true }).first().click();
    const dialog = page.getByRole("dialog", { name: "Your new webhook secret" });
    assert.match(await dialog.getByTestId("secret").innerText(), /^whsec_/);
    await dialog.getByRole("button", { name: "I saved the webhook secret" }).click();
    await page.getByText("Nothing was sent yet").waitFor();
    await choice.check();
    await page.reload();
    await waitUntilEqual("the choice is kept", () => choice.isChecked(), true);
    await page.getByRole("button", { name: "Send test" }).click();
    const delivery = page.getByRole("table", { name: "Deliveries" }).getByRole("row").nth(1);
    await delivery.getByText("Test", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Remove" }).click();
    await waitUntilEqual("the channel is off without its address", () => choice.isDisabled(), true);
    assert.deepEqual(browser.complaints(), []);
  });
}

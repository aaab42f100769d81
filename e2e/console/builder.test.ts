/**
 * Tests the builder's pages beyond the journey (journeys/builder.test.ts): keys, requests, statistics, search, several
 * accounts.
 */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import { createDataDir, type Platform, removeDataDir, startPlatform } from "@tollgate/stage/dev-platform.ts";
import { waitUntilRolledUp } from "@tollgate/stage/ledger-check.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import type { Locator, Page } from "playwright-core";
import { ConsoleClient } from "../console-client.ts";
import { grantCreditAsOperator } from "./accounts.ts";
import {
  type BrowserSession,
  buildConsole,
  copyWithButton,
  NEEDS_CHROMIUM,
  openBrowser,
  openSession,
  signIn,
  waitUntilEqual,
} from "./browser.ts";
import { formatDollars, parseDollars } from "./money.ts";
import { runProgram } from "./run-shown-commands.ts";

const ADA = { email: "ada@example.com", password: "a long enough password" };
const SECRET = /tsk_live_\w{12}_\w{43}/;

describe("the builder's console", NEEDS_CHROMIUM, () => {
  let dataDir: string;
  let platform: Platform;
  let browser: BrowserSession;
  let page: Page;

  before(async () => {
    buildConsole();
    dataDir = await createDataDir();
    platform = await startPlatform(dataDir, ["--engine", "scripted", "--models", "tiny-3b"], {
      STATUS_SAMPLE_S: "1",
    });
    await startWithOneRequest();
    browser = await openBrowser({ baseUrl: platform.ready.gateway_url });
    page = browser.page;
    await openSession(page, ADA);
  });
  after(async () => {
    await browser?.close();
    await platform?.stop();
    await removeDataDir(dataDir);
  });

  const credit = (dollars: string): Locator => page.getByRole("definition").filter({ hasText: dollars }).first();
  const untilSearch = (search: string): Promise<void> => page.waitForURL((url) => url.search === search);
  const actFor = async (account: string): Promise<void> => {
    const button = page.getByRole("button", { name: /Accounts and settings/ });
    await button.click();
    await page.getByRole("menuitemradio", { name: account }).click();
    // When a menu closes, the focus returns to its button a moment later. If another menu were opened before, this
    // would close it.
    await button.and(page.locator(":focus")).waitFor();
  };
  /** Creates the user Ada with an account that has credit, a key and one request. */
  const startWithOneRequest = async (): Promise<void> => {
    const ada = new ConsoleClient(platform);
    await ada.send("POST", "auth/sign-up/email", { ...ADA, name: "Ada" });
    await ada.send("POST", "accounts", { kind: "builder", name: "Analytical engines" });
    await grantCreditAsOperator(
      await new ConsoleClient(platform).signIn(platform.ready.operator),
      "Analytical engines",
      2,
    );
    const { secret } = await ada.send<{ secret: string }>("POST", "keys", { name: "first key" });
    await chat(secret, "Hello");
  };
  /** Returns the secret that the dialog shows only once, and closes the dialog. */
  const shownSecret = async (): Promise<string> => {
    await page.getByText("Copy it now").waitFor();
    const secret = SECRET.exec(await page.getByRole("dialog", { name: "Your new key" }).innerText())?.[0];
    assert.ok(secret !== undefined, "the secret is shown");
    await page.getByRole("button", { name: /^I saved the/ }).click();
    return secret;
  };
  /** Returns the page's complaints without the browser's own log lines about a refusal with this status. */
  const complaintsBut = (status: number): string[] =>
    browser.complaints().filter((said) => !said.includes(`status of ${status}`));
  const ask = (key: string, model: string): Promise<Response> =>
    fetch(`${platform.ready.gateway_url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ model, messages: [{ role: "user", content: "Hello" }], max_tokens: 50 }),
    });
  /** Sends a chat with this key, as a client would. */
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
    const ada = await new ConsoleClient(platform).signIn(ADA);
    const { secret } = await ada.send<{ secret: string }>("POST", "keys", { name: "explorer" });
    await chat(secret, "Hello");
    await page.goto("/console/requests");
    const rows = page.getByRole("table", { name: "Requests" }).getByRole("row");
    const untilListed = (requests: number): Promise<void> =>
      waitUntilEqual("the requests below the header", async () => (await rows.count()) - 1, requests);
    await untilListed(2);
    const live = page.getByRole("button", { name: "Live" });
    assert.equal(await live.getAttribute("aria-pressed"), "true");
    await chat(secret, "Hello");
    await untilListed(3);
    await live.click();
    assert.equal(await live.getAttribute("aria-pressed"), "false");
    await chat(secret, "Hello");
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

  test("the amounts on the overview add up, and the balance shows even the smallest charge", async () => {
    const headers = { "sec-fetch-site": "same-origin" };
    const made = await page.request.post("/console/api/keys", { data: { name: "sums" }, headers });
    const { secret } = (await made.json()) as { secret: string };
    for (const tokens of [1, 7, 30]) await chat(secret, `#script {"tokens":${tokens}}`);
    await waitUntilRolledUp(platform);
    // The overview lists only the latest requests, this page all of them.
    await page.goto("/console/requests");
    const rows = page.getByRole("table", { name: "Requests" }).locator("tbody tr");
    await rows.nth(3).waitFor();
    const charges = await rows.locator("td:last-child").allInnerTexts();
    await page.goto("/console/overview");
    assert.equal(new Set(charges.map((text) => text.length - text.indexOf("."))).size, 1, charges.join(" "));
    const sum = formatDollars(charges.reduce((so, text) => so + parseDollars(text), 0n));
    // The shown figures, the chart's sum and the models' costs must equal this sum from the database.
    const spentSince = async (start: "day" | "month"): Promise<bigint> => {
      const [row] = await platform.query<{ pico: string }>(
        `select coalesce(sum(r.charge_pico), 0)::text as pico from request r join account a on a.id = r.account_id
          where a.name = 'Analytical engines' and r.created_at >= date_trunc('${start}', now(), 'UTC')`,
      );
      return BigInt(row?.pico ?? 0);
    };
    // All amounts of a page have the same number of decimals, so that some end in zeros.
    const figure = async (name: string): Promise<bigint> =>
      parseDollars(
        await page
          .getByRole("term")
          .filter({ hasText: new RegExp(`^${name}$`) })
          .locator("xpath=following-sibling::dd[1]")
          .innerText(),
      );
    // Repeats the comparison, because a day may end between the two reads.
    await eventually("the figures are what was spent", async () => {
      const shown = [await figure("Spend today"), await figure("Spend this month")];
      return shown[0] === (await spentSince("day")) && shown[1] === (await spentSince("month"));
    });
    await page.getByText(new RegExp(`^${RegExp.escape(sum)}0* in the last 24 hours$`)).waitFor();
    const parts = page.getByRole("list", { name: "Spend by model" }).locator("li > span:last-child");
    const sumOfParts = async (): Promise<string> =>
      formatDollars((await parts.allInnerTexts()).reduce((so, text) => so + parseDollars(text), 0n));
    await waitUntilEqual("the sum by model", sumOfParts, sum);
    await credit(formatDollars(parseDollars("$2.00") - parseDollars(sum))).waitFor();
  });

  test("a chart's range is in the URL, and its values can be read by keyboard", async () => {
    const chart = (days: number) => page.getByRole("figure", { name: `Spend in the last ${days} days by model` });
    await page.goto("/console/overview?range=7d");
    await chart(7).waitFor();
    await page.getByRole("radio", { name: "30d" }).click();
    await chart(30).waitFor();
    await untilSearch("?range=30d");
    await page.reload();
    await chart(30).waitFor();
    await page.goBack();
    await chart(7).waitFor();
    await untilSearch("?range=7d");
    await page.goto("/console/overview?range=nonsense");
    await page.getByRole("figure", { name: /Spend in the last 24 hours/ }).waitFor();
    await page.goto("/console/overview?range=7d");
    await chart(7).getByRole("application").focus();
    for (let day = 0; day < 6; day++) await page.keyboard.press("ArrowRight");
    await chart(7)
      .getByRole("status")
      .filter({ hasText: / UTC.*tiny-3b.*\$0\.0/s })
      .waitFor();
    assert.deepEqual(browser.complaints(), []);
  });

  test("the pages show performance by model and key, find requests by label, ID and cost, and count requests refused for lack of credit", async () => {
    const headers = { "sec-fetch-site": "same-origin" };
    const made = await page.request.post("/console/api/keys", { data: { name: "insight", labels: true }, headers });
    const { secret, id: keyId } = (await made.json()) as { secret: string; id: string };
    const send = (body: object, signal?: AbortSignal): Promise<Response> =>
      fetch(`${platform.ready.gateway_url}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "tiny-3b", max_tokens: 200, ...body }),
        ...(signal !== undefined && { signal }),
      });
    const script = (orders: object) => ({ messages: [{ role: "user", content: `#script ${JSON.stringify(orders)}` }] });
    const answers: string[] = [];
    for (const tokens of [20, 40, 60]) {
      const answer = await send({ ...script({ tokens }), user: "nightly" });
      answers.push(((await answer.json()) as { id: string }).id);
    }
    const left = new AbortController();
    const leaving = await send({ ...script({ tokens: 150, delta_ms: 100 }), stream: true }, left.signal);
    await leaving.body?.getReader().read();
    left.abort();
    await waitUntilRolledUp(platform);

    await page.goto(`/console/performance?range=1h&key=${keyId}`);
    const figure = (name: string) => page.getByRole("definition").filter({ hasText: name });
    await figure("0 of 3 failed, 1 client disconnected").waitFor();
    await figure("0 %").first().waitFor();
    await page.getByRole("figure", { name: "Time to first token in the last hour" }).waitFor();
    await page.getByRole("button", { name: "Clear", exact: true }).click();
    await untilSearch("?range=1h");
    await page.getByRole("radio", { name: "By key" }).click();
    await page.getByRole("table", { name: "Performance by key" }).getByRole("button", { name: "insight" }).click();
    await page.waitForURL((url) => url.searchParams.get("key") === keyId);
    await figure("0 of 3 failed").waitFor();
    await page.reload();
    await figure("0 of 3 failed").waitFor();
    await page.getByRole("radio", { name: "7d" }).click();
    await page.getByRole("figure", { name: "Duration in the last 7 days" }).waitFor();

    // The overview mentions the disconnected client, but does not list it as an error.
    await page.goto("/console/overview");
    await page.getByText("disconnected.").waitFor();
    assert.equal(await page.getByRole("link", { name: /client_closed/ }).count(), 0);
    await page.getByRole("list", { name: "Spend by label in the last 24 hours" }).getByText("nightly").click();
    const total = (name: string) => page.locator("dl[aria-label=Totals] > div").filter({ hasText: name });
    await total("Requests").getByText("3", { exact: true }).waitFor();
    await total("Tokens out").getByText("120", { exact: true }).waitFor();
    await untilSearch("?q=label%3Anightly");
    await page.getByLabel("Order").selectOption("cost");
    // With a label filter, the API can sort by cost only within a month.
    await untilSearch("?q=label%3Anightly&sort=cost&range=30d");
    const rows = page.getByRole("table", { name: "Requests" }).locator("tbody tr");
    await rows.nth(2).waitFor();
    await rows.nth(0).getByText("60", { exact: true }).waitFor();
    const field = page.getByRole("combobox", { name: "Filter" });
    await field.fill("nonsense");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").filter({ hasText: "nonsense: write a name and a value" }).waitFor();
    await field.fill(answers[0] ?? "");
    const drawer = page.getByRole("dialog");
    await drawer.getByText((answers[0] ?? "").replace("chatcmpl-", "req_"), { exact: true }).waitFor();
    await drawer.getByText("nightly", { exact: true }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("radio", { name: "1h" }).click();
    await page.waitForURL((url) => url.searchParams.get("range") === "1h");
    await rows.nth(2).waitFor();

    const change = { data: { budget_day_micro: "0.000001" }, headers };
    assert.equal((await page.request.patch(`/console/api/keys/${keyId}`, change)).status(), 200);
    const refused = await send(script({ tokens: 20 }));
    assert.equal(refused.status, 402, await refused.text());
    await eventually("the refusal is counted", async () => {
      const counted = "select from unfunded_hour u join api_key k on k.id = u.key_id where k.name = 'insight'";
      return (await platform.query(counted)).length > 0;
    });
    await page.goto("/console/requests");
    await page.getByText(/daily budget was used up \(.*\binsight: 1\b/).waitFor();
    await page.getByText(/requests? (was|were) refused for insufficient credit/).waitFor();
    assert.deepEqual(browser.complaints(), []);
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
});

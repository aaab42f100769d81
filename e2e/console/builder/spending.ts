/** The tests of figures: spending, charts, performance, and the search for requests by them. */
import assert from "node:assert/strict";
import { before, test } from "node:test";
import type { Platform } from "@tollgate/stage/dev-platform.ts";
import { waitUntilRolledUp } from "@tollgate/stage/ledger-check.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import type { Page } from "playwright-core";
import { type BrowserSession, waitUntilEqual } from "../console-browser.ts";
import { formatDollars, parseDollars } from "../dollar-amounts.ts";
import type { BuilderConsole } from "./open-console.ts";

export function testSpending(open: () => BuilderConsole): void {
  let platform: Platform;
  let browser: BrowserSession;
  let page: Page;
  let credit: BuilderConsole["credit"];
  let untilSearch: BuilderConsole["untilSearch"];
  let chat: BuilderConsole["chat"];
  before(() => {
    ({ platform, browser, page, credit, untilSearch, chat } = open());
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
}

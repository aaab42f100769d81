/**
 * Tests the playground in addition to the journey (journeys/builder.test.ts), with a node that answers as instructed.
 */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { after, before, describe, test } from "node:test";
import { createDataDir, type Platform, removeDataDir, startPlatform } from "@tollgate/stage/dev-platform.ts";
import { readLastRecord } from "@tollgate/stage/ledger-check.ts";
import { waitForFormatSupport } from "@tollgate/stage/nodes/agent.ts";
import { sendScriptedChat } from "@tollgate/stage/requests.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import type { Page } from "playwright-core";
import { ConsoleClient } from "../console-client.ts";
import {
  type BrowserSession,
  buildConsole,
  copyWithButton,
  endSession,
  NEEDS_CHROMIUM,
  openBrowser,
  openSession,
  signIn,
  waitUntilEqual,
} from "./browser.ts";
import { formatDollars } from "./money.ts";
import { LONG_ANSWER, Playground, scriptMessage, waitForRecordAfter } from "./playground.ts";
import { checkVisuals } from "./visual/checks.ts";

/** Markdown with every element, and with HTML that must be shown as text. */
const DRAWN = `# Rivers <img src=x onerror=alert(1)>

Some *are* **long**, ~~few~~ \`short\`. <script>alert(2)</script> [run](javascript:alert(3))

1. one
2. two

- [a link](https://example.com/a)
- ![a picture](https://example.com/x.png)

> It was **said**.

| River | km |
|:--|--:|
| Danube | 2850 |

---

\`\`\`ts
const a = 1 < 2;

console.log(a);
\`\`\``;

const RIVER = {
  type: "object",
  properties: { name: { type: "string" }, lengthKm: { type: "integer", minimum: 1 } },
  required: ["name", "lengthKm"],
  additionalProperties: false,
};

describe("the playground", NEEDS_CHROMIUM, () => {
  let dataDir: string;
  let platform: Platform;
  let browser: BrowserSession;
  let page: Page;
  let playground: Playground;

  before(async () => {
    buildConsole();
    dataDir = await createDataDir();
    platform = await startPlatform(dataDir, ["--engine", "scripted", "--models", "tiny-3b,reason-32b"]);
    browser = await openBrowser({ baseUrl: platform.ready.gateway_url });
    page = browser.page;
    playground = new Playground(page);
    await openSession(page, platform.ready.builder);
    // Sends one request first, because tests wait for a record newer than the last one.
    await (await sendScriptedChat(platform, { tokens: 5 })).text();
    await page.goto("/console/playground?model=reason-32b");
  });
  after(async () => {
    await browser?.close();
    await platform?.stop();
    await removeDataDir(dataDir);
  });

  const kept = async (): Promise<string> =>
    String(await page.evaluate("JSON.stringify({ ...sessionStorage, ...localStorage })"));
  const actions = async (item: string): Promise<void> => {
    await page.getByRole("button", { name: "Preset actions" }).click();
    await page.getByRole("menuitem", { name: item }).click();
  };
  let keyId: string;

  // gateway/src/inference/request-endings.test.ts tests answers that are stopped before their first token: they are
  // charged for the prompt.
  test("an answer that the user stops right after a node has started its job shows the recorded cost", async () => {
    const before = await readLastRecord(platform);
    const host = await new ConsoleClient(platform).signIn(platform.ready.builder);
    const { data } = await host.get<{ data: { id: string }[] }>("nodes");
    await playground.say(scriptMessage({ ...LONG_ANSWER, ttft_ms: 1_000 }));
    await eventually("the node works on it", async () => {
      const { stats } = await host.get<{ stats: { busy: number } }>(`nodes/${data[0]?.id}`);
      return stats.busy > 0;
    });
    await page.getByRole("button", { name: "Stop" }).click();
    await playground.untilEnded();
    const record = await waitForRecordAfter(platform, before.id);
    assert.equal(record.outcome, "client_closed");
    assert.ok(record.completion_tokens < LONG_ANSWER.tokens);
    assert.ok(record.prompt_tokens > 0 && BigInt(record.charge_pico) > 0n);
    assert.equal(await playground.cost.getAttribute("value"), formatDollars(BigInt(record.charge_pico)));
    await page.getByText(`${record.prompt_tokens} in, ${record.completion_tokens} out`).last().waitFor();
  });

  test("answers are shown as formatted Markdown, and nothing in them is executed", async () => {
    await playground.say(scriptMessage({ text: DRAWN }));
    await playground.untilEnded();
    const drawn = playground.answer;
    assert.equal(await drawn.locator("h3").first().innerText(), "Rivers <img src=x onerror=alert(1)>");
    assert.deepEqual(await drawn.locator("ol > li > div > p").allInnerTexts(), ["one", "two"]);
    assert.deepEqual(await drawn.getByRole("cell").allInnerTexts(), ["Danube", "2850"]);
    assert.equal(await drawn.locator("blockquote strong").innerText(), "said");
    // The answer has one link of each safe kind. All other links are shown as text.
    assert.deepEqual(
      await drawn
        .getByRole("link")
        .evaluateAll((links) =>
          links.map((link) => ["href", "rel", "target"].map((name) => link.getAttribute(name)).join(" ")),
        ),
      ["https://example.com/a noopener noreferrer _blank", "https://example.com/x.png noopener noreferrer _blank"],
    );
    await drawn.getByText("[run](javascript:alert(3))").waitFor();
    await drawn.getByText("<script>alert(2)</script>").waitFor();
    assert.equal(await page.locator("article img, article script, article iframe").count(), 0);
    const code = await copyWithButton(page, drawn.getByRole("button", { name: "Copy this ts code" }));
    assert.equal(code, "const a = 1 < 2;\n\nconsole.log(a);");

    await page.getByRole("radio", { name: "Plain text" }).click();
    await waitUntilEqual("the answer as text", () => playground.answer.locator("p").allInnerTexts(), [DRAWN]);
    await page.getByRole("radio", { name: "Formatted" }).click();
    const copy = page.getByRole("button", { name: "Copy the answer of reason-32b" }).last();
    assert.equal(await copyWithButton(page, copy), DRAWN);
    // A long conversation scrolls inside its own area; the page itself does not scroll.
    const beyond = `document.documentElement.scrollHeight - document.querySelector("main").getBoundingClientRect().bottom - scrollY`;
    assert.ok(Number(await page.evaluate(beyond)) < 2);
  });

  test("a failed answer shows the error and what was billed", async () => {
    const before = await readLastRecord(platform);
    await playground.say(scriptMessage({ tokens: 50, fail_after: 10 }));
    await page.getByText("upstream_failed").waitFor();
    await playground.untilEnded();
    const record = await waitForRecordAfter(platform, before.id);
    assert.equal(await playground.cost.getAttribute("value"), formatDollars(BigInt(record.charge_pico)));
    // A failed stream has no final chunk, and the browser logs that.
    const said: string[] = [];
    await eventually("the browser reports the unfinished body", () => {
      said.push(...browser.complaints());
      return said.length > 0;
    });
    assert.match(said.join("\n"), /^error: [^\n]*ERR_INCOMPLETE_CHUNKED_ENCODING$/);
  });

  test("a setting that the API would refuse disables the Send button", async () => {
    await playground.message.fill("Hello");
    await page.getByLabel("Max output tokens").fill("0");
    await page.getByText("Enter a whole number from 1").waitFor();
    await page.getByRole("button", { name: "Send", disabled: true }).waitFor();
    await page.getByLabel("Max output tokens").fill("64");
    await page.getByRole("button", { name: "Send", disabled: false }).waitFor();
  });

  test("the Copy as code dialog shows a request that works, with a placeholder instead of the key", async () => {
    await playground.message.fill('Say it\'s "fine"');
    await page.getByRole("button", { name: "Copy as code" }).click();
    const curl = await copyWithButton(
      page,
      page.getByRole("dialog").getByRole("button", { name: "Copy the curl example" }),
    );
    assert.match(curl, /"max_tokens": 64/);
    assert.match(curl, /tsk_live_YOUR_KEY/);
    const ran = execFileSync("sh", ["-c", curl.replace("tsk_live_YOUR_KEY", platform.ready.api_key)], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
    assert.match(ran, /chat\.completion\.chunk[\s\S]*\[DONE\]/);
    await page.keyboard.press("Escape");
  });

  test("a builder regenerates the last answer and edits an earlier message", async () => {
    await playground.clear();
    await playground.say(scriptMessage({ text: "first" }));
    await playground.untilEnded();
    await playground.say(scriptMessage({ text: "second" }));
    await playground.untilEnded();
    const again = page.waitForRequest("**/v1/chat/completions");
    await page.getByRole("button", { name: "Regenerate" }).click();
    await again;
    await page.getByTestId("cost").nth(1).waitFor();
    assert.deepEqual(await page.getByTestId("answer").allInnerTexts(), ["first", "second"]);
    await page.getByRole("button", { name: "Edit message" }).first().click();
    await page.getByRole("textbox", { name: "Edit message" }).fill(scriptMessage({ text: "another beginning" }));
    await page.getByText("Sending removes all messages after this one.").waitFor();
    await page.locator("article").getByRole("button", { name: "Send" }).click();
    await playground.answer.getByText("another beginning").waitFor();
    await page.getByTestId("cost").first().waitFor();
    assert.deepEqual(await page.getByTestId("answer").allInnerTexts(), ["another beginning"]);
    playground.ended = 1;
  });

  test("two models answer the same message, and each answer shows its time, tokens and cost", async () => {
    await page.getByLabel("Compare with").selectOption("tiny-3b");
    await page.getByText(/two requests, up to 128 output tokens/).waitFor();
    await playground.say(scriptMessage({ text: "side by side" }));
    await playground.untilEnded(2);
    const article = page.locator("article").last();
    assert.deepEqual(await article.getByRole("heading", { level: 2 }).allInnerTexts(), [
      "You",
      "reason-32b",
      "tiny-3b",
    ]);
    assert.deepEqual(await article.getByTestId("answer").allInnerTexts(), ["side by side", "side by side"]);
    assert.equal(await article.getByText(/ total$/).count(), 2);
    const [left, right] = await article
      .getByTestId("answer")
      .evaluateAll((all) => all.map((one) => one.getBoundingClientRect()).map(({ left, top }) => ({ left, top })));
    assert.ok((left?.left ?? 0) < (right?.left ?? 0), "beside each other");
    const costs = await article
      .getByTestId("cost")
      .locator("data")
      .evaluateAll((all) => all.map((one) => one.getAttribute("value")));
    assert.equal(new Set(costs).size, 2, `the models have prices of their own: ${costs}`);
    await eventually("the last record has one of these costs", async () =>
      costs.includes(formatDollars(BigInt((await readLastRecord(platform)).charge_pico))),
    );
  });

  test("the page fits every screen in both themes, and has no accessibility findings", async () => {
    await playground.say(scriptMessage({ text: DRAWN }));
    await playground.untilEnded(2);
    for (const width of [390, 1024, 1440]) {
      await page.setViewportSize({ width, height: 900 });
      await checkVisuals(browser, `the playground at ${width}`);
    }
    await page.emulateMedia({ colorScheme: "light" });
    await page.setViewportSize({ width: 390, height: 900 });
    const tops = await page
      .locator("article")
      .last()
      .getByTestId("answer")
      .evaluateAll((all) => all.map((one) => one.getBoundingClientRect().left));
    assert.equal(tops[0], tops[1], "below each other where it is narrow");
    await page.setViewportSize({ width: 1440, height: 900 });
  });

  test("the conversation survives navigation and a reload, and the key is in no browser storage", async () => {
    const said = await page.getByTestId("answer").allInnerTexts();
    await playground.message.fill("half a thou");
    await page.getByRole("link", { name: "Requests", exact: true }).click();
    await page.getByRole("cell", { name: "Playground" }).filter({ visible: true }).first().waitFor();
    await page.getByRole("link", { name: "Playground" }).click();
    const answers = (): Promise<string[]> => page.getByTestId("answer").allInnerTexts();
    await waitUntilEqual("the answers", answers, said);
    await page.reload();
    await page
      .getByTestId("cost")
      .nth(playground.ended - 1)
      .waitFor();
    await waitUntilEqual("the answers", answers, said);
    await waitUntilEqual("the message", () => playground.message.inputValue(), "half a thou");
    await waitUntilEqual("the other model", () => page.getByLabel("Compare with").inputValue(), "tiny-3b");
    assert.match(await kept(), /side by side/);
    assert.doesNotMatch(await kept(), /tsk_live_/);
    // The reload lost the key. The requests to both models must share one new key: with a key each, the second would
    // invalidate the first, and the browser would report an error.
    browser.complaints();
    await playground.say(scriptMessage({ text: "both again" }));
    await playground.untilEnded(2);
    assert.deepEqual(browser.complaints(), []);
  });

  test("a reload during an answer keeps the text so far and says that it was interrupted", async () => {
    await page.getByLabel("Compare with").selectOption("");
    await playground.clear();
    await playground.say(scriptMessage(LONG_ANSWER));
    await playground.answer.filter({ hasText: /\w/ }).waitFor();
    await page.reload();
    await page.getByText("interrupted by a page reload").waitFor();
    await playground.answer.filter({ hasText: /\w/ }).waitFor();
    await playground.untilEnded();
    await playground.clear();
  });

  test("presets can be saved, renamed and deleted, and a full browser storage is reported", async () => {
    await page.getByLabel("System message").fill("Be brief.");
    await page.getByLabel("Temperature").fill("0.2");
    await actions("Save as new preset");
    await page.getByRole("textbox", { name: "Name" }).fill("Brief");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("Saved as Brief").first().waitFor();
    await page.getByLabel("System message").fill("Be long.");
    await page.getByLabel("Preset", { exact: true }).selectOption({ label: "None" });
    await page.getByLabel("Preset", { exact: true }).selectOption({ label: "Brief" });
    await waitUntilEqual("the system message", () => page.getByLabel("System message").inputValue(), "Be brief.");
    await actions("Rename");
    await page.getByRole("textbox", { name: "Name" }).fill("Short");
    await page.getByRole("button", { name: "Rename", exact: true }).click();
    const short = page.getByLabel("Preset", { exact: true }).locator("option", { hasText: "Short" });
    await short.waitFor({ state: "attached" });
    await page.reload();
    await short.waitFor({ state: "attached" });
    await waitUntilEqual("the temperature", () => page.getByLabel("Temperature").inputValue(), "0.2");

    await page.evaluate(`window.setItem = Storage.prototype.setItem;
      Storage.prototype.setItem = () => { throw new DOMException("full", "QuotaExceededError"); }`);
    await actions("Save as new preset");
    await page.getByRole("textbox", { name: "Name" }).fill("One more");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("The preset was not saved: this browser's storage is full.").waitFor();
    await page.keyboard.press("Escape");
    await playground.message.fill("What now?");
    await page.getByText("This conversation will be lost on reload").waitFor();
    await page.evaluate("Storage.prototype.setItem = window.setItem; undefined");

    await page.getByLabel("Preset", { exact: true }).selectOption({ label: "Short" });
    await actions("Delete");
    await page.getByRole("button", { name: "Delete preset" }).click();
    await page.getByText("None saved yet").waitFor({ state: "attached" });
    await page.getByLabel("System message").fill("");
    await page.getByLabel("Temperature").fill("");
  });

  test("an answer that follows a JSON schema is shown as formatted JSON", async () => {
    await waitForFormatSupport(platform, "tiny-3b");
    await page.getByLabel("Model", { exact: true }).selectOption("tiny-3b");
    await page.getByLabel("Output format").locator("option", { hasText: "JSON schema" }).waitFor({ state: "attached" });
    await page.getByLabel("Output format").selectOption("json_schema");
    await playground.message.fill("Where is the Danube?");
    await page.getByLabel("JSON schema", { exact: true }).fill('{"type": "object",');
    await page.getByText("Not valid JSON").waitFor();
    await page.getByRole("button", { name: "Send", disabled: true }).waitFor();
    await page.getByLabel("JSON schema", { exact: true }).fill(JSON.stringify(RIVER));
    await page.getByRole("button", { name: "Send" }).click();
    await playground.untilEnded();
    assert.equal(await playground.answer.locator("pre").innerText(), '{\n  "name": "text",\n  "lengthKm": 1\n}');
    await page.getByLabel("Output format").selectOption("text");
    await playground.clear();
  });

  test("the playground's key is not in the list of keys and is replaced on reload; its rate limit shows a retry time", async () => {
    const issuedAfterReload = async (): Promise<{ id: string; secret: string }> => {
      const issued = page.waitForResponse("**/console/api/playground/key");
      await page.reload();
      await playground.say(scriptMessage({ text: "again" }));
      const key = await (await issued).json();
      await playground.untilEnded();
      return key;
    };
    const first = await issuedAfterReload();
    const second = await issuedAfterReload();
    assert.equal(second.id, first.id, "one for each session and account");
    assert.equal(await statusWith(first.secret), 401, "replaced");
    assert.equal(await statusWith(second.secret), 200);
    keyId = second.id;
    const builder = await new ConsoleClient(platform).signIn(platform.ready.builder);
    const { data: keys } = await builder.get<{ data: { id: string; name: string }[] }>("keys");
    assert.deepEqual(
      keys.filter(({ id, name }) => id === keyId || name === "Playground"),
      [],
    );
    const operator = await new ConsoleClient(platform).signIn(platform.ready.operator);
    // The limit is zero. With a higher limit, a new minute might begin and allow the request.
    const limits = { requests_per_minute: 0, tokens_per_minute: null, in_flight: null };
    await operator.send("PUT", `operator/keys/${keyId}/limits`, limits);
    await playground.say(scriptMessage({ text: "too soon" }));
    await page.getByText(/Playground rate limit reached\. Try again in \d+ seconds?\./).waitFor();
    await page.getByText("Nothing was billed").waitFor();
    await operator.send("PUT", `operator/keys/${keyId}/limits`, { ...limits, requests_per_minute: null });
  });

  test("on the requests page, the filter key:playground finds the requests of all playground sessions", async () => {
    await page.goto("/console/requests");
    const table = page.getByRole("table", { name: "Requests" });
    const own = table.getByRole("row").filter({ hasNotText: "Playground" });
    const headers = 1;
    await table.waitFor();
    await page.getByRole("combobox", { name: "Filter" }).fill("key:playground");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/console/requests?q=key%3Aplayground");
    await eventually("its requests are there, and no other key's", async () => {
      const [others, all] = [await own.count(), await table.getByRole("row").count()];
      return others === headers && all > headers;
    });
    const builder = await new ConsoleClient(platform).signIn(platform.ready.builder);
    const count = async (query: string): Promise<number> =>
      (await builder.get<{ requests: number }>(`requests/totals${query}`)).requests;
    const [all, one, every] = await Promise.all([count(""), count(`?key=${keyId}`), count("?key=playground")]);
    assert.ok(every >= one && one > 0 && all > every, `${all}, ${one}, ${every}`);
    await page.goto("/console/performance?by=key&range=1h");
    const keys = page.getByRole("table", { name: "Performance by key" });
    await keys.getByRole("button", { name: "Playground" }).waitFor();
    assert.equal(await keys.getByRole("button", { name: "Playground" }).count(), 1, "one row for all of its keys");
    assert.equal(await keys.getByText("key_").count(), 0);
    await keys.getByRole("button", { name: "Playground" }).click();
    await page.waitForURL("**/console/performance?*key=playground*");
    await waitUntilEqual("the key", () => page.getByLabel("Key", { exact: true }).inputValue(), "playground");
    await page.goto("/console/playground");
    assert.deepEqual(
      browser.complaints().filter((said) => !/429/.test(said)),
      [],
    );
  });

  test("the conversation is kept when the session ends, but only for the same user", async () => {
    await playground.clear();
    await playground.say(scriptMessage({ text: "between us" }));
    await playground.untilEnded();
    browser.complaints();
    await endSession(browser);
    await page.goto("/console/playground");
    await signInHere(platform.ready.builder);
    await playground.answer.getByText("between us").waitFor();
    await endSession(browser);
    await page.goto("/console/playground");
    await signInHere(platform.ready.operator);
    await page.getByRole("navigation", { name: "Console" }).waitFor();
    assert.doesNotMatch(await kept(), /between us/);
    await endSession(browser);
    await page.goto("/console/playground");
    await signInHere(platform.ready.builder);
    await page.getByText("No messages yet").waitFor();
    browser.complaints();
  });

  test("signing out revokes the key and deletes the conversation", async () => {
    const issued = page.waitForResponse("**/console/api/playground/key");
    await playground.say(scriptMessage({ text: "the last word" }));
    const { secret } = (await (await issued).json()) as { secret: string };
    await playground.answer.getByText("the last word").waitFor();
    assert.equal(await statusWith(secret), 200);
    // Requests in flight during sign-out get a 401 before sign-out is answered.
    await page.route("**/console/api/auth/sign-out", async (route) => {
      const left = await route.fetch();
      const asked = page.waitForResponse("**/console/api/auth/get-session");
      await page.evaluate("dispatchEvent(new Event('visibilitychange'))");
      await (await asked).finished();
      await route.fulfill({ response: left });
    });
    await page.getByRole("button", { name: /Accounts and settings/ }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await page.unroute("**/console/api/auth/sign-out");
    assert.deepEqual([new URL(page.url()).pathname, new URL(page.url()).search], ["/console/sign-in", ""]);
    await eventually("the key is dead", async () => (await statusWith(secret)) === 401);
    assert.doesNotMatch(await kept(), /the last word|tsk_live_/);
    // The browser itself logs these 401s.
    assert.deepEqual(
      browser.complaints().filter((said) => !/401/.test(said)),
      [],
    );
  });

  const signInHere = async (who: { email: string; password: string }): Promise<void> => {
    await page.getByLabel("Email").fill(who.email);
    await page.getByLabel("Password", { exact: true }).fill(who.password);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor({ state: "detached" });
  };
  const statusWith = async (key: string): Promise<number> => {
    const url = `${platform.ready.gateway_url}/v1/models`;
    const response = await fetch(url, { headers: { authorization: `Bearer ${key}` } });
    await response.body?.cancel();
    return response.status;
  };

  test("the credits page says that purchases are not available on this platform", async () => {
    await signIn(page, platform.ready.builder);
    await page.goto("/console/credits");
    await page.getByText("Purchases are not available").waitFor();
    await page.getByText("credit of a development platform").filter({ visible: true }).waitFor();
    // The browser logs the 404 itself.
    assert.deepEqual(
      browser.complaints().filter((said) => !/404/.test(said)),
      [],
    );
  });

  test("a user without credit sees a notice before the first message, and the API's error after sending one", async () => {
    const poor = await openBrowser({ baseUrl: platform.ready.gateway_url });
    try {
      await poor.page.goto("/console/sign-up");
      await poor.page.getByLabel("Your name").fill("Poor Tom");
      await poor.page.getByLabel("Email").fill("tom@example.com");
      await poor.page.getByLabel("Password", { exact: true }).fill("a long enough password");
      await poor.page.getByRole("button", { name: "Create account" }).click();
      await poor.page.getByLabel("Name").fill("Tom's");
      await poor.page.getByRole("button", { name: "Create builder account" }).click();
      await poor.page.getByRole("link", { name: "Playground" }).click();
      await poor.page.getByText(/has no available credit$/).waitFor();
      await poor.page.getByText("Messages are refused until credit is added.", { exact: true }).waitFor();
      const way = poor.page.getByRole("link", { name: "Add credit" });
      assert.equal(await way.getAttribute("href"), "/console/credits");
      await poor.page.getByLabel("Message", { exact: true }).fill("Hello?");
      await poor.page.keyboard.press("Enter");
      await poor.page.getByText("You have no credit left.").waitFor();
      await poor.page.getByText("insufficient_credits").waitFor();
      await poor.page.getByText("Nothing was billed").waitFor();
      await poor.page.getByRole("alert").getByRole("link", { name: "Credits" }).click();
      await poor.page.getByRole("heading", { name: "Credits", exact: true }).waitFor();
    } finally {
      await poor.close();
    }
  });
});

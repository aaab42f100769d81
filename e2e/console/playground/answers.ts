/** The tests of answers: how they are shown, stopped, repeated and compared, and what they cost. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { before, test } from "node:test";
import type { Platform } from "@tollgate/stage/dev-platform.ts";
import { readLastRecord } from "@tollgate/stage/ledger-check.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import type { Page } from "playwright-core";
import { ConsoleClient } from "../../console-client.ts";
import { type BrowserSession, copyWithButton, waitUntilEqual } from "../console-browser.ts";
import { formatDollars } from "../dollar-amounts.ts";
import { LONG_ANSWER, type Playground, scriptMessage, waitForRecordAfter } from "../playground-page.ts";
import { checkVisuals } from "../visual/page-checks.ts";
import type { OpenPlayground } from "./open-playground.ts";

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

export function testAnswers(open: () => OpenPlayground): void {
  let platform: Platform;
  let browser: BrowserSession;
  let page: Page;
  let playground: Playground;
  before(() => {
    ({ platform, browser, page, playground } = open());
  });

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
}

/** The tests of the conversation and its settings: reloads, presets, output formats. */
import assert from "node:assert/strict";
import { before, test } from "node:test";
import type { Platform } from "@tollgate/stage/dev-platform.ts";
import { waitForFormatSupport } from "@tollgate/stage/nodes/start-agent.ts";
import type { Page } from "playwright-core";
import { type BrowserSession, waitUntilEqual } from "../console-browser.ts";
import { LONG_ANSWER, type Playground, scriptMessage } from "../playground-page.ts";
import type { OpenPlayground } from "./open-playground.ts";

const RIVER = {
  type: "object",
  properties: { name: { type: "string" }, lengthKm: { type: "integer", minimum: 1 } },
  required: ["name", "lengthKm"],
  additionalProperties: false,
};

export function testConversation(open: () => OpenPlayground): void {
  let platform: Platform;
  let browser: BrowserSession;
  let page: Page;
  let playground: Playground;
  let kept: OpenPlayground["kept"];
  before(() => {
    ({ platform, browser, page, playground, kept } = open());
  });

  const actions = async (item: string): Promise<void> => {
    await page.getByRole("button", { name: "Preset actions" }).click();
    await page.getByRole("menuitem", { name: item }).click();
  };

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
}

/** Controls the playground page: sends messages and reads answers with their cost. */

import type { Platform } from "@tollgate/stage/dev-platform.ts";
import { type RequestRecordRow, readLastRecord } from "@tollgate/stage/ledger-check.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import type { Locator, Page } from "playwright-core";

/** An answer that takes two minutes, so that tests can act before its end. */
export const LONG_ANSWER = { tokens: 500, delta_ms: 250 };

/** A message with instructions for the scripted engine. */
export const scriptMessage = (orders: object): string => `#script ${JSON.stringify(orders)}`;

export class Playground {
  readonly #page: Page;
  /** The number of finished answers on the page, each with its cost. */
  ended = 0;

  constructor(page: Page) {
    this.#page = page;
  }

  get message(): Locator {
    return this.#page.getByLabel("Message", { exact: true });
  }

  get answer(): Locator {
    return this.#page.getByTestId("answer").last();
  }

  get cost(): Locator {
    return this.#page.getByTestId("cost").last().locator("data");
  }

  async say(text: string): Promise<void> {
    await this.message.fill(text);
    // Enter has no effect while an answer is running, so this waits for the Send button.
    const form = this.#page.locator("form", { has: this.message });
    await form.getByRole("button", { name: "Send", disabled: false }).waitFor();
    await this.message.press("Enter");
  }

  async untilEnded(answers = 1): Promise<void> {
    this.ended += answers;
    const page = this.#page;
    await eventually(`${this.ended} answers have their cost`, async () => {
      if ((await page.getByTestId("cost").count()) >= this.ended) return true;
      // The page tries only a few times to find a request's record. After a reload it tries again.
      if ((await page.getByText("Its cost is in your request history", { exact: true }).count()) > 0)
        await page.reload();
      return false;
    });
  }

  async clear(): Promise<void> {
    await this.#page.getByRole("button", { name: "Clear" }).click();
    await this.#page.getByText("No messages yet").waitFor();
    this.ended = 0;
  }
}

/** Waits for a record newer than the one with this ID, because records are written a moment after the answer. */
export const waitForRecordAfter = (platform: Platform, before: string | undefined): Promise<RequestRecordRow> =>
  eventually("another request is on record", async () => {
    const record = await readLastRecord(platform);
    return record.id !== before && record;
  });

/** Controls the playground page: sends messages and reads answers with their cost. */

import type { Platform } from "@tollgate/stage/dev.ts";
import { lastRecord, type RecordRow } from "@tollgate/stage/ledger-check.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import type { Locator, Page } from "playwright-core";

/** An answer of two minutes, long enough that tests act before its end. */
export const LONG = { tokens: 500, delta_ms: 250 };

/** A message with instructions for the scripted engine. */
export const order = (orders: object): string => `#script ${JSON.stringify(orders)}`;

export class Playground {
  readonly #page: Page;
  /** The number of answers that ended and show their cost. */
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
    // Enter does nothing while the previous answer runs.
    const form = this.#page.locator("form", { has: this.message });
    await form.getByRole("button", { name: "Send", disabled: false }).waitFor();
    await this.message.press("Enter");
  }

  async untilEnded(answers = 1): Promise<void> {
    this.ended += answers;
    const page = this.#page;
    await eventually(`${this.ended} answers have their cost`, async () => {
      if ((await page.getByTestId("cost").count()) >= this.ended) return true;
      // The page looks for a record only a few times; a reload makes it look again.
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

/** The record of the request after the one with this ID. It may be written a moment after its answer. */
export const recordAfter = (platform: Platform, before: string | undefined): Promise<RecordRow> =>
  eventually("another request is on record", async () => {
    const record = await lastRecord(platform);
    return record.id !== before && record;
  });

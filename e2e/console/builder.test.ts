/**
 * Tests the builder's pages beyond the journey (journeys/builder.test.ts), on one platform and in one browser. The
 * tests are in `builder/`, by subject. Each leaves the account as the next ones expect it.
 */
import { after, before, describe } from "node:test";
import { testKeys } from "./builder/keys.ts";
import { testModelsAndRequests } from "./builder/models-and-requests.ts";
import { type BuilderConsole, openBuilderConsole } from "./builder/open-console.ts";
import { testAccounts } from "./builder/search-and-accounts.ts";
import { testSpending } from "./builder/spending.ts";
import { NEEDS_CHROMIUM } from "./console-browser.ts";

describe("the builder's console", NEEDS_CHROMIUM, () => {
  let opened: BuilderConsole;
  const closing: (() => Promise<void>)[] = [];
  before(async () => {
    opened = await openBuilderConsole((close) => closing.unshift(close));
  });
  after(async () => {
    for (const close of closing) await close();
  });

  testModelsAndRequests(() => opened);
  testKeys(() => opened);
  testSpending(() => opened);
  testAccounts(() => opened);
});

import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const SOURCES = fileURLToPath(new URL("../src", import.meta.url));
const READS = /\buse(Infinite)?Query\(/;
/** The components that say how old a query's data is. */
const SHOWS_AGE = /<(LoadedQuery|LoadedStat|PagedTable|DataAge)\b/;

/** Components that read data without showing a figure that can be outdated. */
const NO_FIGURES: Record<string, string> = {
  "layout/top-up-banner.tsx": "says only that the top-up is off",
  "pages/authorize/authorize-page.tsx": "a confirmation",
  "pages/credits/checkout-return-notice.tsx": "waits for one purchase, whose amount does not change",
  "pages/host/tokens/tokens-page.tsx": "secrets/secrets-page.tsx shows the list",
  "pages/join/join-page.tsx": "an invitation",
  "pages/keys/key-settings-fields.tsx": "the models to choose from",
  "pages/keys/keys-page.tsx": "secrets/secrets-page.tsx shows the list",
  "pages/operator/platform/headline-figures.tsx": "reads only the previous period; platform-page.tsx shows the age",
  "pages/operator/platform/setup-card.tsx": "steps, not figures",
  "pages/overview/first-call-guide.tsx": "steps, not figures",
  "pages/performance/performance-table.tsx": "reads only the keys' names; performance-page.tsx shows the age",
  "pages/playground/answer-cost.tsx": "the cost of one answer, which does not change",
  "pages/playground/message-composer.tsx": "a quote for what is being typed",
  "pages/playground/credit-notice.tsx": "says only that credit is missing",
  "pages/sign-in/provider-buttons.tsx": "ways to sign in",
  "pages/sign-in/sign-in-page.tsx": "ways to sign in",
};

const readers = globSync("**/*.tsx", { cwd: SOURCES })
  .map((path) => ({ path: path.replaceAll("\\", "/"), text: readFileSync(`${SOURCES}/${path}`, "utf8") }))
  .filter(({ text }) => READS.test(text));

test("every component that reads figures shows their age when they are outdated", () => {
  const silent = readers.filter(({ text }) => !SHOWS_AGE.test(text)).map(({ path }) => path);
  assert.deepEqual(silent.toSorted(), Object.keys(NO_FIGURES).toSorted());
});

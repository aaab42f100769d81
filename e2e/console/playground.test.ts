/**
 * Tests the playground in addition to the journey (journeys/builder.test.ts), on one platform and in one browser. The
 * tests are in `playground/`, by subject. Each leaves the page as the next one expects it.
 */
import { after, before, describe } from "node:test";
import { NEEDS_CHROMIUM } from "./console-browser.ts";
import { testAnswers } from "./playground/answers.ts";
import { testConversation } from "./playground/conversation.ts";
import { testKeysAndSessions } from "./playground/keys-and-sessions.ts";
import { type OpenPlayground, openPlayground } from "./playground/open-playground.ts";

describe("the playground", NEEDS_CHROMIUM, () => {
  let opened: OpenPlayground;
  const closing: (() => Promise<void>)[] = [];
  before(async () => {
    opened = await openPlayground((close) => closing.unshift(close));
  });
  after(async () => {
    for (const close of closing) await close();
  });

  testAnswers(() => opened);
  testConversation(() => opened);
  testKeysAndSessions(() => opened);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { buildDocument } from "@tollgate/api/openapi/document.ts";
import { DOCUMENTS } from "../../../gateway/src/site/reference/api-documents.ts";
import { Html } from "../../../gateway/src/site/reference/html-template.ts";
import { indexApi, indexPage } from "./search-entries.ts";
import { extractSnippet, openSearch, type SearchEntry } from "./search-query.ts";

const page = { file: "docs/builders.md", path: "builders", name: "For builders", section: "Builders" };
const BODY = new Html(
  '<h1 id="for-builders">For <code>builders</code></h1>\n<p>Take the &#60;client&#62; you have.</p>\n' +
    '<h2 id="holds"><a href="#holds">Holds</a></h2>\n<table><tr><td>one</td><td>two</td></tr></table>\n' +
    '<figure class="code"><figcaption><span>Shell</span></figcaption><pre><code>curl https://address.invalid/v1</code></pre></figure>\n',
);

test("the index has an entry with heading and text for each section of a page", () => {
  assert.deepEqual(indexPage(page, BODY), [
    {
      url: "/docs/guide/builders",
      heading: "For builders",
      place: "Builders",
      text: "Take the <client> you have.",
    },
    {
      url: "/docs/guide/builders#holds",
      heading: "Holds",
      place: "Builders / For builders",
      text: "one two curl http://127.0.0.1:8080/v1",
    },
  ]);
});

test("the index has every operation with its path and fields, and ranks internal APIs lower", () => {
  const entries = DOCUMENTS.map((api) => indexApi(api, buildDocument(api.api)));
  const chat = entries[0]?.find(({ url }) => url === "/docs#createChatCompletion");
  assert.equal(chat?.place, "API reference / POST /v1/chat/completions");
  assert.match(chat?.text ?? "", /stream_options\.include_usage/);
  assert.deepEqual(
    entries.map((all) => new Set(all.map(({ minor }) => minor))),
    [new Set([undefined]), new Set([true]), new Set([true])],
  );
});

const entry = (heading: string, text: string, more: Partial<SearchEntry> = {}): SearchEntry => ({
  ...{ url: `/docs#${heading}`, heading, place: "Guide", text },
  ...more,
});

test("search finds entries by the beginning of a word and despite a typo, and ranks matching headings first", () => {
  const search = openSearch([
    entry("Errors", "A refund is paid when the upstream fails."),
    entry("Refunds", "The rest of a hold."),
    entry("Refund a payment", "Of the console.", { minor: true }),
    entry("Streaming", "Tokens as they come."),
  ]);
  const found = (words: string): string[] => search(words).map(({ heading }) => heading);
  assert.deepEqual(found("refund"), ["Refunds", "Errors", "Refund a payment"]);
  assert.deepEqual(found("strea"), ["Streaming"]);
  assert.deepEqual(found("straming"), ["Streaming"]);
  assert.deepEqual(found("refund upstream"), ["Errors"]);
  assert.deepEqual(found("hold tokens"), ["Streaming", "Refunds"], "without a part that has both words");
  assert.deepEqual(found("zebra"), []);
});

test("a result shows the first match highlighted, with some text before it", () => {
  assert.deepEqual(extractSnippet("A hold. Holds end.", ["hold"]), [
    { text: "A ", isMatch: false },
    { text: "hold", isMatch: true },
    { text: ". ", isMatch: false },
    { text: "Hold", isMatch: true },
    { text: "s end.", isMatch: false },
  ]);
  const long = extractSnippet(`${"word ".repeat(50)}refund ${"word ".repeat(50)}`, ["refund"]);
  assert.equal(long.at(0)?.text, "…");
  assert.equal(long.at(-1)?.text, "…");
  assert.ok(long.map(({ text }) => text).join("").length < 150);
  assert.deepEqual(extractSnippet("No match <b>", ["other"]), [{ text: "No match <b>", isMatch: false }]);
});

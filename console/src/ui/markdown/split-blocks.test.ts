import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { markdownReader } from "./parse-markdown.ts";
import { blockSplitter } from "./split-blocks.ts";

const { read, starts } = markdownReader();

const WRITTEN = [
  "a",
  "b *c*",
  "\n",
  "\n\n",
  "\r\n",
  "# ",
  "#",
  "- ",
  "  ",
  "    ",
  "1. ",
  "2) ",
  "> ",
  "---",
  "***",
  "*",
];
const MORE = ["```", "```\n", "~~~", "| a | b |", "|-|-|", "|", "=", "`", "[x](", "https://a.b/c", ")", "<br>", "\t"];
const growing = fc.array(fc.constantFrom(...WRITTEN, ...MORE), { maxLength: 40 });

test("splits a growing text like the same text given at once, and its blocks parse to the same result", () => {
  fc.assert(
    fc.property(growing, (parts) => {
      const grown = blockSplitter(starts);
      let text = "";
      for (const part of parts) {
        text += part;
        const pieces = grown(text);
        assert.deepEqual(pieces, blockSplitter(starts)(text));
        if (pieces.length > 0) assert.equal(pieces.join(""), text);
        assert.deepEqual(pieces.flatMap(read), read(text));
      }
    }),
    { numRuns: 500 },
  );
});

test("splits only the end of the text again when the text grows", () => {
  const asked: string[] = [];
  const grown = blockSplitter((text) => {
    asked.push(text);
    return starts(text);
  });
  grown("one\n\ntwo\n\nthree\n\nfo");
  assert.deepEqual(grown("one\n\ntwo\n\nthree\n\nfour"), ["one\n\n", "two\n\n", "three\n\n", "four"]);
  assert.equal(asked.at(-1), "three\n\nfour");
  assert.deepEqual(grown("another"), ["another"], "another text is read from its beginning");
});

/** Tests how a page's code fences and header are read, and which ones are refused. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { readPage, selectRunnableBlocks } from "./read-page.ts";

const fence = (info: string, code = "true"): string => `\`\`\`${info}\n${code}\n\`\`\`\n`;

test("reads sh, python and ts blocks in order, with their line numbers, also within lists", () => {
  const page = readPage(
    `# A\n\n${fence("sh", "a")}\n1. An item:\n\n   \`\`\`python\n   if b:\n     c\n   \`\`\`\n\n${fence("json", "{}")}${fence("ts", "d")}`,
  );
  assert.equal(page.kind, "platform");
  assert.deepEqual(
    selectRunnableBlocks(page).map(({ language, text, line }) => [language, text, line]),
    [
      ["sh", "a\n", 3],
      ["python", "if b:\n  c\n", 9],
      ["ts", "d\n", 17],
    ],
  );
  assert.deepEqual(page.mistakes, []);
});

test("pairs a code block with the output block directly after it", () => {
  const { blocks, mistakes } = readPage(`${fence("sh", "a")}${fence("output", "b")}\n${fence("sh", "c")}`);
  assert.deepEqual(
    blocks.map(({ output }) => output),
    [{ text: "b\n", line: 4 }, undefined],
  );
  assert.deepEqual(mistakes, []);
});

test("skips a block that is marked no-run with a reason, and recognizes a background block", () => {
  const page = readPage(`${fence('sh no-run="needs Docker"')}${fence('sh background="is ready"', "b")}`);
  assert.deepEqual(
    page.blocks.map(({ noRun, background }) => [noRun, background]),
    [
      ["needs Docker", undefined],
      [undefined, "is ready"],
    ],
  );
  assert.deepEqual(
    selectRunnableBlocks(page).map(({ text }) => text),
    ["b\n"],
  );
});

test("reads a page's doctest kind from its first line, and runs no block of a page of kind none", () => {
  for (const kind of ["platform", "platform-without-node", "clone", "none"]) {
    const page = readPage(`<!-- doctest: ${kind} -->\n# A\n\n${fence("sh")}`);
    assert.deepEqual(
      [page.kind, page.mistakes, selectRunnableBlocks(page).length],
      [kind, [], kind === "none" ? 0 : 1],
    );
  }
});

for (const [what, text, mistake] of [
  ["an unknown language", fence("bash"), /^line 1: the fence's language "bash" is none of sh, python/],
  ["a fence without a language", fence(""), /^line 1: the fence's language "" is none of/],
  ["an unknown attribute", fence('sh norun="x"'), /^line 1: fences have no attribute norun/],
  [
    "a word that is not an attribute",
    fence("sh no-run"),
    /^line 1: after its language a fence has attributes .*not no-run/,
  ],
  ["no-run without a reason", fence('sh no-run=""'), /^line 1: no-run needs a text/],
  ["no-run on a block that never runs", fence('json no-run="x"'), /^line 1: only sh, python, ts blocks have no-run/],
  ["background of another language", fence('ts background="x"'), /^line 1: only sh blocks have background/],
  ["output after a paragraph", `${fence("sh")}\nIt says:\n\n${fence("output")}`, /^line 7: output stands directly/],
  ["output after output", `${fence("sh")}${fence("output")}${fence("output")}`, /^line 7: output stands directly/],
  ["a shell prompt", fence("sh", "a\n$ npm start"), /^line 1: no \$ prompts/],
  ["jq", fence('sh no-run="x"', "curl -s x | jq .id"), /^line 1: no jq/],
  ["an unknown kind", "<!-- doctest: moon -->\n", /^line 1: "moon" is none of the kinds/],
  [
    "a header below the first line",
    "# A\n\n<!-- doctest: none -->\n",
    /^line 1: <!-- doctest: … --> has to be the first/,
  ],
] as const) {
  test(`refuses a documentation page with ${what}`, () => {
    const { mistakes } = readPage(text);
    assert.equal(mistakes.length, 1, mistakes.join("\n"));
    assert.match(mistakes[0] as string, mistake);
  });
}

test("does not mistake variables for shell prompts, or names that contain jq for the program jq", () => {
  assert.deepEqual(readPage(fence("sh", 'echo "$KEY" $ref\n./my-jq.sh jq.json')).mistakes, []);
});

/** Tests which texts are read from pages and sources, and that the same seed picks the same sample of them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { readCodeTexts } from "./code-texts.ts";
import { listSentences } from "./doc-sentences.ts";
import { pickRandomTexts } from "./draw-sample.ts";
import { listMessages } from "./user-messages.ts";

test("reads whole sentences of a page, with links marked, without headings, tables, code blocks and fragments", () => {
  const page = `# A heading of at least five words

The gateway closes the [stream](a.md) after \`2.5\` s
without output. Too short. Use version 1.2, e.g. with npm, for every gateway.

| one cell | with a sentence that is long enough. |
|---|---|

- Each item of a list is prose too.
- not a sentence, because it begins in the middle.

\`\`\`sh
echo This is code and not a sentence.
\`\`\`
`;
  assert.deepEqual(listSentences(page), [
    "The gateway closes the [stream] after `2.5` s without output.",
    "Use version 1.2, e.g. with npm, for every gateway.",
    "Each item of a list is prose too.",
  ]);
});

test("reads messages with {…} for inserted values, and puts a setting's name before its help", () => {
  const source = `
import "a module with four words";
if (state === "four words are compared") log.warn({ id }, "the database is unreachable now");
throw new Error(\`Model "\${name}" does not exist\` + " on this gateway.");
const flags = { plan: { help: "show what would be done" } };
const settings = { LOG_LEVEL: choice([], { rule: "be one of the levels", help: "The lowest level that is written." }) };
const shape = z.object({ name: z.string().describe("Unique among the host's nodes.") });
check(refine("must be a whole number"));
await pool.query("select a from b where c");
invariant(ok, "a sentence for the developers only");
`;
  assert.deepEqual(listMessages("a.ts", source), [
    "the database is unreachable now",
    'Model "{…}" does not exist on this gateway.',
    "plan: show what would be done",
    "LOG_LEVEL must be one of the levels",
    "LOG_LEVEL: The lowest level that is written.",
    "{…} must be a whole number",
  ]);
});

test("lists a JSX sentence with its links and values as one message, and leaves class names out", () => {
  const source = `const Page = () => <p className="one two three four">
  The key <Code>{id}</Code> has <a href="/x">no limits</a> in {month}.
</p>;`;
  assert.deepEqual(listMessages("page.tsx", source), ["The key {…} has no limits in {…}."]);
});

test("reads test titles with their suites, and comments and exported names with the code beside them", () => {
  const source = `/** Opens
 * the file. */
import { test } from "node:test";
// biome-ignore lint: a directive
${"export"} const LIMIT = 1; // one
const local = 2; // two
// A reason
// of two lines.
${"export"} function open(): void {}
${"export"} type Kind = "a";
describe("a suite", () => {
  for (const name of NAMES) test(\`opens \${name}\`, async (t) => t.test("twice", open));
});
test.skip("alone", open);
`;
  assert.deepEqual(readCodeTexts("a.test.ts", source), {
    titles: [
      { line: 11, text: "a suite", suites: [], isSuite: true },
      { line: 12, text: "opens {…}", suites: ["a suite"], isSuite: false },
      { line: 12, text: "twice", suites: ["a suite", "opens {…}"], isSuite: false },
      { line: 14, text: "alone", suites: [], isSuite: false },
    ],
    comments: [
      { line: 1, text: "Opens the file.", code: 'import { test } from "node:test";' },
      { line: 5, text: "one", code: "export const LIMIT = 1;" },
      { line: 6, text: "two", code: "const local = 2;" },
      { line: 7, text: "A reason of two lines.", code: "export function open(): void {}" },
    ],
    names: [
      { line: 5, text: "LIMIT", code: "export const LIMIT = 1; // one" },
      { line: 9, text: "open", code: "export function open(): void {}" },
      { line: 10, text: "Kind", code: 'export type Kind = "a";' },
    ],
  });
});

test("draws the same texts for the same seed, without repeating any", () => {
  const texts = Array.from({ length: 100 }, (_, i) => `text ${i}`);
  const first = pickRandomTexts(texts, 40, 7);
  assert.deepEqual(pickRandomTexts(texts, 40, 7), first);
  assert.notDeepEqual(pickRandomTexts(texts, 40, 8), first);
  assert.equal(new Set(first).size, 40);
});

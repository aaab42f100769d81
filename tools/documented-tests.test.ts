/**
 * Checks that e2e/conformance.md, docs/threats.md and e2e/enemies/proofs.md name existing tests. Every rule and every
 * defence names at least one test, by file and title. A title is the text between the quotes. If the title has
 * placeholders, the text that replaces each must be a literal of the same file.
 */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const DOCUMENT = readFileSync(join(root, "e2e/conformance.md"), "utf8");
const THREATS = readFileSync(join(root, "docs/threats.md"), "utf8");
const ENEMIES = readFileSync(join(root, "e2e/enemies/proofs.md"), "utf8");
const NOT_YET = "## Not yet built";
/** The sections of the specification that set rules; 1 and 9 only describe. */
const SECTIONS = [
  "2.1",
  "2.2",
  "2.3",
  "2.4",
  "2.5",
  "2.6",
  "2.7",
  "3",
  "4.1",
  "4.2",
  "4.3",
  "4.4",
  "4.5",
  "4.6",
  "5",
  "6",
]
  .concat(["7.1", "7.2", "7.3", "7.4", "8"])
  .sort();

interface Row {
  rule: string;
  section: string;
  proofs: string[];
}

/** Returns the cells of every row in tables with three columns, without the header rows. */
function cellsOf(markdown: string): [string, string, string][] {
  return markdown.split("\n").flatMap((line, i, lines) => {
    if (!line.startsWith("| ") || lines[i + 1]?.startsWith("|---")) return [];
    const cells = line.replace(/^\| | \|$/g, "").split(" | ");
    assert.equal(cells.length, 3, `three columns: ${line}`);
    return [cells as [string, string, string]];
  });
}

const proofsOf = (cell: string): string[] => cell.split("<br>").map((proof) => proof.trim());

/** Reads the rows of a table with the columns rule, section, proofs. */
const rowsOf = (markdown: string): Row[] =>
  cellsOf(markdown).map(([rule, section, proofs]) => ({ rule, section, proofs: proofsOf(proofs) }));

/** Returns why a quoted test (`` `path` › title ``, or `` `path` › suite › title ``) does not exist; undefined if it does. */
function mistakeIn(proof: string, read: (path: string) => string | undefined): string | undefined {
  const [, path, titles] = /^`([^`]+)` › (.+)$/.exec(proof) ?? [];
  if (path === undefined || titles === undefined) return `not of the form \`path\` › title: ${proof}`;
  const source = read(path);
  if (source === undefined) return `there is no file ${path}`;
  let from = 0;
  for (const title of titles.split(" › ")) {
    const at = findTitle(source, title, from);
    if (at === undefined) return `${path} has no test "${title}"`;
    from = at;
  }
  return undefined;
}

/**
 * Finds the calls that define tests. `withBench` is the limits suite's function for a test that runs on every adapter.
 */
const TITLED = /\b(?:test|it|describe|withBench)\(\s*(?:"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`)/g;

/** Returns the position of the first call with this title at or after `from`. */
function findTitle(source: string, title: string, from: number): number | undefined {
  for (const match of source.matchAll(TITLED)) {
    const [, plain, template] = match;
    const fits = plain === undefined ? fitsTemplate(source, template ?? "", title) : JSON.parse(`"${plain}"`) === title;
    if (fits && match.index >= from) return match.index;
  }
  return undefined;
}

function fitsTemplate(source: string, template: string, title: string): boolean {
  const parts = template.split(/\$\{[^}]*\}/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const found = new RegExp(`^${parts.join("(.+?)")}$`).exec(title);
  return found?.slice(1).every((piece) => source.includes(`"${piece}"`)) ?? false;
}

const readSource = (path: string): string | undefined =>
  existsSync(join(root, path)) ? readFileSync(join(root, path), "utf8") : undefined;

const mistakesOf = (what: string, proofs: string[]): string[] =>
  proofs.flatMap((proof) => {
    const mistake = mistakeIn(proof, readSource);
    return mistake === undefined ? [] : [`${what}: ${mistake}`];
  });

const [built, notYet] = DOCUMENT.split(NOT_YET) as [string, string];

test("every rule of e2e/conformance.md names existing tests", () => {
  const rows = rowsOf(built);
  assert.ok(rows.length > 100, "the tables were found");
  assert.deepEqual(
    rows.flatMap(({ rule, proofs }) => mistakesOf(rule, proofs)),
    [],
  );
});

test("every defence in docs/threats.md names existing tests", () => {
  const rows = cellsOf(THREATS);
  assert.ok(rows.length > 30, "the tables were found");
  assert.deepEqual(
    rows.flatMap(([attack, , proofs]) => mistakesOf(attack, proofsOf(proofs))),
    [],
  );
});

test("every row of e2e/enemies/proofs.md names existing code and tests", () => {
  const rows = cellsOf(ENEMIES);
  assert.ok(rows.length > 30, "the tables were found");
  const missing = rows.flatMap(([, code]) =>
    code.split(", ").filter((file) => !existsSync(join(root, file.replaceAll("`", "")))),
  );
  assert.deepEqual(missing, []);
  assert.deepEqual(
    rows.flatMap(([attack, , proofs]) => mistakesOf(attack, proofsOf(proofs))),
    [],
  );
});

test("e2e/conformance.md has rows for every section of the specification with rules, and has no rule twice", () => {
  const waiting = notYet.split("\n").filter((line) => line.startsWith("- "));
  const rows = rowsOf(built);
  const sections = new Set([
    ...rows.map(({ section }) => section),
    ...waiting.map((line) => /^- (\S+): /.exec(line)?.[1] as string),
  ]);
  assert.deepEqual([...sections].sort(), SECTIONS);
  const rules = rows.map(({ section, rule }) => `${section} ${rule}`);
  assert.deepEqual(
    rules.filter((rule, i) => rules.indexOf(rule) !== i),
    [],
  );
});

test("the check reports a reference to a missing test", () => {
  const source = `describe("a suite", () => {
    test("says \\"yes\\"", () => {});
    for (const name of ["one", "two"]) test(\`\${name} of many\`, () => {});
  });
  test("after it", () => {});`;
  const mistake = (proof: string): string | undefined =>
    mistakeIn(proof, (path) => (path === "x.test.ts" ? source : undefined));
  for (const good of [
    "`x.test.ts` › a suite",
    '`x.test.ts` › says "yes"',
    "`x.test.ts` › a suite › two of many",
    "`x.test.ts` › after it",
  ]) {
    assert.equal(mistake(good), undefined);
  }
  for (const [bad, why] of [
    ["x.test.ts › a suite", /not of the form/],
    ["`y.test.ts` › a suite", /no file y/],
    ["`x.test.ts` › a suit", /no test "a suit"/],
    ["`x.test.ts` › three of many", /no test "three/],
    ["`x.test.ts` › after it › a suite", /no test "a suite"/],
  ] as const) {
    assert.match(mistake(bad) ?? "", why);
  }
});

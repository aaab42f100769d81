/** Checks that every relative link in a Markdown file leads to an existing file, folder or heading. */
import assert from "node:assert/strict";
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { PAGES } from "./guide/pages.ts";
import { findBrokenLinks, findMissingSourceFiles, readLinks } from "./links.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const ELSEWHERE = /(^|\/)(node_modules|dist|data|\.cache|\.git)(\/|$)/;
const FILES = globSync("**/*.md", { cwd: root, exclude: (path) => ELSEWHERE.test(path) });

test("every relative Markdown link leads to an existing file and heading", () => {
  assert.ok(FILES.includes("README.md") && FILES.includes("deploy/README.md") && FILES.length > 60, "they were found");
  assert.deepEqual(findBrokenLinks(root, FILES), []);
});

/** How links in console/src/pages/operator/platform/setup-steps.ts begin; setup-steps.test.ts checks their targets. */
const GUIDE_FOLDER = "docs/operators.md";

test("every link of the programs to the guide leads to an existing page and heading", () => {
  const sources = globSync("{console,host,terminal}/src/**/*.{ts,tsx}", { cwd: root });
  const links = sources.flatMap((file) =>
    [...readFileSync(join(root, file), "utf8").matchAll(/"\/docs\/guide\/([\w/-]+)(?:#([\w-]+))?"/g)].map(
      ([link, page, heading]) => ({ file, link, page: `docs/${page}.md`, heading }),
    ),
  );
  assert.ok(links.length > 2, "they were found");
  const broken = links.filter(({ page, heading }) => {
    if (!FILES.includes(page)) return page !== GUIDE_FOLDER;
    return heading !== undefined && !readLinks(readFileSync(join(root, page), "utf8")).anchors.has(heading);
  });
  assert.deepEqual(broken, []);
});

/** Placeholders for names that readers choose themselves. */
const PLACEHOLDERS = [
  "docs/builders/quickstart.md: try.mts",
  "gateway/sql/README.md: migrations/NNNN_what_it_does.sql",
].concat(["console/README.md: ./lazy-route-component.ts", "e2e/clients/README.md: adapters/x.mjs"]);

test("every source file that a README or guide mentions as code exists", () => {
  const exclude = (path: string): boolean => /(^|\/)(node_modules|dist|\.cache|\.git)(\/|$)/.test(path);
  const sources = globSync("**/*.{ts,tsx,mts,mjs,sql}", { cwd: root, exclude });
  const current = FILES.filter((file) => !/^(CHANGELOG|docs\/migrate)/.test(file));
  const missing = findMissingSourceFiles(root, current, new Set(sources));
  assert.deepEqual(
    missing.filter((name) => !PLACEHOLDERS.includes(name)),
    [],
  );
});

test("no Markdown file has merge conflict markers", () => {
  const left = FILES.filter((file) => /^(<{7}|>{7}) /m.test(readFileSync(join(root, file), "utf8")));
  assert.deepEqual(left, []);
});

test("every file in docs/ is a page of the guide, or excluded because it is for contributors", () => {
  const guides = FILES.filter((file) => /^docs\/(?!decisions\/)/.test(file));
  const missing = guides.filter((file) => !PAGES.some((page) => page.file === file));
  assert.deepEqual(missing, []);
});

test("finds links everywhere except in code, and creates the same anchors for headings as GitHub", () => {
  const text = `# One: two, \`three_four\`!
A [b](c.md#d "title"), \`[not](this.md)\` and [![picture](p.webp)](e.md).

| [f](g.md) |
|---|
| <img src="h.webp" alt="" width="1"> |

1. an item
   > [i](j.md)

\`\`\`
[nor](that.md)
\`\`\`
## One: two, three_four
`;
  const { links, anchors } = readLinks(text);
  assert.deepEqual(links.sort(), ["c.md#d", "e.md", "g.md", "h.webp", "j.md", "p.webp"]);
  assert.deepEqual([...anchors], ["one-two-three_four", "one-two-three_four-1"]);
});

test("reports a link to a missing file or heading together with the file that contains it", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-links-"));
  t.after(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, "in"));
  writeFileSync(
    join(folder, "a.md"),
    "# A\n[](in/b.md#b) [](in) [](#a) [](https://x.example/#y) [](mailto:a@b.example)",
  );
  writeFileSync(
    join(folder, "in/b.md"),
    "# B\n[gone](../c.md) [no heading](../a.md#b) [nor here](#a) [no file of ours](../in#b)",
  );
  const broken = ["../c.md", "../a.md#b", "#a", "../in#b"].map((link) => `in/b.md: ${link}`);
  assert.deepEqual(findBrokenLinks(folder, ["a.md", "in/b.md"]), broken);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { PREFETCHED_PAGES } from "../src/early/prefetched-requests.ts";
import { collectPageCode, insertScript } from "./early-script.ts";

const chunk = (imports: string[], code = "", isEntry = false) =>
  ({ type: "chunk", imports, facadeModuleId: code === "" ? null : `/anywhere/console/src/${code}`, isEntry }) as const;

const PAGES = Object.fromEntries(
  Object.values(PREFETCHED_PAGES).map(({ code }) => [
    `assets/${code.replaceAll("/", "-")}.js`,
    chunk(["chart.js"], code),
  ]),
);

test("lists once each code file that a page needs and the HTML document does not load", () => {
  const bundle = {
    ...PAGES,
    "index.js": chunk(["shared.js"], "main.tsx", true),
    "shared.js": chunk([]),
    "chart.js": chunk(["shared.js", "lines.js"]),
    "lines.js": chunk(["chart.js"]),
    "index.html": { type: "asset" as const },
  };
  assert.deepEqual(collectPageCode(bundle)["pages/overview/overview-page.tsx"], [
    "/console/assets/pages-overview-overview-page.tsx.js",
    "/console/chart.js",
    "/console/lines.js",
  ]);
});

test("fails the build if the early script (it sends requests before the page's code loads) lists a page that the bundle lacks", () => {
  assert.throws(() => collectPageCode({ "index.js": chunk([], "main.tsx", true) }), /has no page pages\/overview/);
});

test("inserts the early script before all other scripts", () => {
  const page = '<head><link rel="icon"><script src="main.js"></script></head>';
  assert.equal(
    insertScript(page, "/console/early.js"),
    '<head><link rel="icon"><script src="/console/early.js"></script>\n    <script src="main.js"></script></head>',
  );
  assert.throws(() => insertScript("<head></head>", "/console/early.js"), /no script/);
});

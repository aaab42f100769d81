/** Checks the docs built from the repository: every page exists, and every link leads to an existing target. */
import assert from "node:assert/strict";
import { globSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { buildSite } from "./build-site.ts";
import { CONTRIBUTOR_FOLDERS, PAGES } from "./pages.ts";
import { readPictureSize } from "./picture-size.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const files = await buildSite(root);
const htmlFiles = [...files.keys()].filter((name) => name.endsWith(".html"));
const textOf = (name: string): string => String(files.get(name) ?? assert.fail(`there is no ${name}`));
/** Returns the file for a URL, chosen as the gateway does. */
const nameOf = (url: string): string => {
  const path = url.slice("/docs/".length);
  const names = [path, `${path}.html`, path === "" ? "index.html" : `${path}/index.html`];
  return names.find((name) => files.has(name)) ?? assert.fail(`there is no page ${url}`);
};
const ids = (text: string): string[] => [...text.matchAll(/ id="([^"]*)"/g)].map(([, id = ""]) => id);
const SERVED_APART = /^\/docs\/(reference\.css|guide\.css|reference\.js|own-key\.js|mark\.svg)$/;

for (const name of htmlFiles) {
  test(`${name}: its links, pictures and headings are valid`, () => {
    const text = textOf(name);
    assert.equal(new Set(ids(text)).size, ids(text).length, "every id is there once");
    for (const [, url = "", anchor] of text.matchAll(/href="(\/docs(?:\/[^"#]*)?)?(?:#([^"]*))?"/g)) {
      if (SERVED_APART.test(url) || (url === "" && anchor === undefined)) continue;
      const target = url === "" ? text : textOf(nameOf(url));
      if (anchor !== undefined) assert.ok(ids(target).includes(anchor), `${url}#${anchor}`);
    }
    for (const [, picture = ""] of text.matchAll(/<img src="\/docs\/([^"]*)"/g)) {
      assert.ok(files.has(picture), picture);
    }
    assert.equal(text.match(/<h1/g)?.length, 1);
    assert.doesNotMatch(text, /<script>|style="|javascript:/);
    assert.doesNotMatch(text, /<pre[^>]*><code>[^<]*http:\/\/127\.0\.0\.1:8080/, "the address can be filled in");
    assert.equal(text.match(/address\.invalid/g)?.length, text.match(/https:\/\/address\.invalid/g)?.length);
  });
}

test("every file of docs/ is in the table of pages, or excluded because it is for contributors", () => {
  const listed = new Set(PAGES.map(({ file }) => file));
  const found = globSync("docs/**/*.md", { cwd: root }).filter(
    (file) => !CONTRIBUTOR_FOLDERS.some((name) => file.startsWith(name)),
  );
  assert.deepEqual(
    found.filter((file) => !listed.has(file)),
    [],
    "add a line to tools/guide/pages.ts",
  );
});

test("pages of the guide link to the previous and the next page", () => {
  const [first, second, third] = PAGES.map(({ path }) => `/docs/guide${path === "" ? "" : `/${path}`}`);
  const links = (url = ""): string[] =>
    [...textOf(nameOf(url)).matchAll(/rel="(prev|next)" href="([^"]*)"/g)].map(([, rel, to]) => `${rel} ${to}`);
  assert.deepEqual(links(first), [`next ${second}`]);
  assert.deepEqual(links(second), [`prev ${first}`, `next ${third}`]);
  assert.equal(links(`/docs/guide/${PAGES.at(-1)?.path}`).length, 1);
});

test("an example file or folder that a page links to has a page of its own", () => {
  assert.match(textOf("guide/deploy.html"), /<a href="\/docs\/guide\/deploy\/proxies">/);
  assert.match(textOf("guide/deploy/proxies.html"), /<a href="\/docs\/guide\/deploy\/proxies\/nginx\.conf">/);
  assert.equal(
    htmlFiles.some((name) => /deploy\/(secrets|plane|\.env)/.test(name)),
    false,
  );
  assert.match(textOf("guide/examples.html"), /<a href="\/docs\/guide\/examples\/python\/chat\.py">/);
  const chat = textOf("guide/examples/python/chat.py.html");
  assert.match(chat, /<code>examples\/python\/chat\.py<\/code>/);
  assert.match(chat, /<span class="k">import<\/span>/);
});

test("reads the size of WebP and SVG pictures, and refuses other formats", () => {
  const picture = (kind: string, bytes: [number, number][]): Uint8Array => {
    const file = Buffer.alloc(40);
    file.write(`RIFF....WEBP${kind}`, "latin1");
    for (const [at, value] of bytes) file[at] = value;
    return file;
  };
  const small = { width: 300, height: 200 };
  assert.deepEqual(
    readPictureSize(
      picture("VP8 ", [
        [26, 44],
        [27, 1],
        [28, 200],
      ]),
    ),
    small,
  );
  assert.deepEqual(
    readPictureSize(
      picture("VP8X", [
        [24, 43],
        [25, 1],
        [27, 199],
      ]),
    ),
    small,
  );
  // The header of a lossless WebP: the width 299 in 14 bits, then the height 199 in 14 bits.
  assert.deepEqual(
    readPictureSize(
      picture("VP8L", [
        [21, 0x2b],
        [22, 0xc1],
        [23, 0x31],
      ]),
    ),
    small,
  );
  const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="300" height="200" viewBox="0 0 300 200">';
  assert.deepEqual(readPictureSize(Buffer.from(svg)), small);
  assert.throws(() => readPictureSize(Buffer.from("<svg><rect/></svg>")), /no SVG with its size/);
  assert.throws(() => readPictureSize(picture("ALPH", [])), /unknown kind: ALPH/);
  assert.throws(() => readPictureSize(Buffer.from("no picture")), /no WebP/);
});

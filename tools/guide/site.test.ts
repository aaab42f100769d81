/** The guide as it is built from the repository: every page is there, and every way between them leads somewhere. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { PAGES } from "./pages.ts";
import { pictureSize } from "./picture.ts";
import { siteOf } from "./site.ts";

const files = siteOf(fileURLToPath(new URL("../..", import.meta.url)));
const textOf = (name: string): string => String(files.get(name) ?? assert.fail(`there is no ${name}`));
const nameOf = (url: string): string =>
  url === "/docs/guide" ? "index.html" : `${url.slice("/docs/guide/".length)}.html`;
const ids = (text: string): string[] => [...text.matchAll(/ id="([^"]*)"/g)].map(([, id = ""]) => id);

for (const { path, name } of PAGES) {
  test(`${name} (/docs/guide/${path}): its links, pictures and headings`, () => {
    const text = textOf(path === "" ? "index.html" : `${path}.html`);
    assert.equal(new Set(ids(text)).size, ids(text).length, "ids are there once");
    for (const [, url = "", anchor] of text.matchAll(/href="(\/docs\/guide(?:\/[^"#]*)?)?(?:#([^"]*))?"/g)) {
      if (url === "" && anchor === undefined) continue;
      const target = url === "" ? text : textOf(nameOf(url));
      if (anchor !== undefined) assert.ok(ids(target).includes(anchor), `${url}#${anchor}`);
    }
    for (const [, picture = ""] of text.matchAll(/<img src="\/docs\/guide\/([^"]*)"/g)) {
      assert.ok(files.has(picture), picture);
    }
    assert.match(text, /aria-current="page">Guide</);
    assert.equal(text.match(/<h1/g)?.length, 1);
    assert.doesNotMatch(text, /<script>|style="|javascript:/);
  });
}

test("the size of a picture of each kind, and of none", () => {
  const picture = (kind: string, bytes: [number, number][]): Uint8Array => {
    const file = Buffer.alloc(40);
    file.write(`RIFF....WEBP${kind}`, "latin1");
    for (const [at, value] of bytes) file[at] = value;
    return file;
  };
  const small = { width: 300, height: 200 };
  assert.deepEqual(
    pictureSize(
      picture("VP8 ", [
        [26, 44],
        [27, 1],
        [28, 200],
      ]),
    ),
    small,
  );
  assert.deepEqual(
    pictureSize(
      picture("VP8X", [
        [24, 43],
        [25, 1],
        [27, 199],
      ]),
    ),
    small,
  );
  // 299 in 14 bits, then 199 in 14 bits.
  assert.deepEqual(
    pictureSize(
      picture("VP8L", [
        [21, 0x2b],
        [22, 0xc1],
        [23, 0x31],
      ]),
    ),
    small,
  );
  const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="300" height="200" viewBox="0 0 300 200">';
  assert.deepEqual(pictureSize(Buffer.from(svg)), small);
  assert.throws(() => pictureSize(Buffer.from("<svg><rect/></svg>")), /no SVG with its size/);
  assert.throws(() => pictureSize(picture("ALPH", [])), /unknown kind: ALPH/);
  assert.throws(() => pictureSize(Buffer.from("no picture")), /no WebP/);
});

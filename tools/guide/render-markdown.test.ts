import assert from "node:assert/strict";
import { test } from "node:test";
import { type LinkTargets, renderPage } from "./render-markdown.ts";

const places: LinkTargets = {
  link: (address) => (address.endsWith(".ts") ? undefined : `/docs/guide/${address}`),
  picture: (address) => ({ url: `/docs/guide/${address}`, width: 1600, height: 1000 }),
};
const body = (text: string): string =>
  renderPage(`# Title\n\n${text}`, places).body.text.replace('<h1 id="title">Title</h1>\n', "");

test("renders a page's title, its headings and their anchors", () => {
  const { title, headings, body } = renderPage("# The `one`\n## Two: 2\n### Three\n## Two: 2\n", places);
  assert.equal(title, "The one");
  assert.deepEqual(headings, [
    { level: 2, id: "two-2", text: "Two: 2" },
    { level: 3, id: "three", text: "Three" },
    { level: 2, id: "two-2-1", text: "Two: 2" },
  ]);
  assert.match(
    body.text,
    /^<h1 id="the-one">The <code>one<\/code><\/h1>\n<h2 id="two-2"><a href="#two-2">Two: 2<\/a><\/h2>\n/,
  );
});

test("refuses a page without a title", () => {
  assert.throws(() => renderPage("## Two\n", places), /begins with its title/);
  assert.throws(() => renderPage("words\n", places), /begins with its title/);
});

test("joins lines, escapes tags, keeps links within the guide, and turns other links into text", () => {
  assert.equal(body("one\n**two** <script>"), "<p>one <strong>two</strong> &#60;script&#62;</p>\n");
  assert.equal(body("[a](b#c) and [d](e.ts)"), '<p><a href="/docs/guide/b#c">a</a> and d</p>\n');
  assert.equal(body("a <!-- not\nseen --> b"), "<p>a  b</p>\n");
});

test("keeps a percent sign on the line of its number", () => {
  assert.equal(body("earned 1.3 % of `1 %`, 5 % off"), "<p>earned 1.3\u00a0% of <code>1 %</code>, 5\u00a0% off</p>\n");
});

test("gives each code block an ID for its copy button", () => {
  assert.equal(
    body("```sh\na < b\n```"),
    '<figure class="code"><figcaption><span>Shell</span></figcaption><pre tabindex="0" role="group" aria-label="Shell, in Title"><code>a &lt; b</code></pre></figure>\n',
  );
});

test("hides the attributes of a code fence and keeps comments in the code", () => {
  assert.match(body('```sh no-run="needs Docker"\ndocker ps\n```'), /<span>Shell<\/span>.*<code>docker ps<\/code>/);
  assert.match(body("```text\n<!-- kept -->\n```"), /<code>&#60;!-- kept --&#62;<\/code>/);
  const { title } = renderPage("<!-- doctest: platform -->\n# Title\n", places);
  assert.equal(title, "Title");
});

test("marks the expected output of a command", () => {
  assert.match(body("```output\n12 tokens\n```"), /^<figure class="code output"><figcaption><span>Output<\/span>/);
});

test("replaces the base URL in examples and sentences with the one that the reader used", () => {
  assert.equal(body("`http://127.0.0.1:8080/v1`"), "<p><code>https://address.invalid/v1</code></p>\n");
  assert.equal(body("`http://127.0.0.1:8080`"), "<p><code>http://127.0.0.1:8080</code></p>\n");
});

test("renders lists with and without blank lines between items, and continues their numbering", () => {
  assert.equal(body("- a\n- b"), "<ul>\n<li>a</li>\n<li>b</li>\n</ul>\n");
  assert.equal(body("3. a\n\n   b\n"), '<ol start="3">\n<li><p>a</p>\n<p>b</p>\n</li>\n</ol>\n');
});

test("puts tables into scrollable boxes, and leaves out empty headers and cells", () => {
  const table = (text: string): string => body(text).replace(/^<div[^>]*>|<\/div>\n$/g, "");
  assert.match(body("|a|\n|-|\n|b|"), /^<div class="wide" tabindex="0" role="group" aria-label="Table in Title">/);
  assert.equal(
    table("|||\n|-|-|\n|a|b<br>c|"),
    "<table>\n<tbody>\n<tr><td>a</td><td>b<br>c</td></tr>\n</tbody>\n</table>",
  );
  assert.match(table("|a||\n|-|-|\n|b|c|"), /<thead><tr><th scope="col">a<\/th><td><\/td><\/tr><\/thead>/);
});

test("sets the height of pictures, and refuses a picture without a width", () => {
  const picture = '<img src="pictures/a.webp" alt="An a" width="800">';
  const shown = '<img src="/docs/guide/pictures/a.webp" alt="An a" width="800" height="500" loading="lazy">\n';
  assert.equal(body(picture), `<p class="pictures">${shown}</p>\n`);
  assert.equal(body(`<p>\n${picture}\n${picture}\n</p>`), `<p class="pictures">${shown}${shown}</p>\n`);
  assert.throws(() => body('<img src="a.webp" alt="">'), /without src, alt and width/);
  assert.throws(() => body("![a](b.webp)"), /with its width/);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldsOf } from "./fields-list.ts";
import { html, marked } from "./html.ts";
import { operationsOf } from "./openapi.ts";
import { referencePage } from "./page.ts";
import { publicApi } from "./public-api.ts";
import { PUBLIC_CODES } from "./refusals.ts";

const document = publicApi();
const page = referencePage(document, { baseUrl: "https://api.example.test" });

test("every operation has its anchor, its path and its curl line", () => {
  for (const { path, operation } of operationsOf(document)) {
    assert.ok(page.includes(`id="${operation.operationId}"`), path);
    assert.ok(page.includes(`href="#${operation.operationId}"`), path);
    assert.ok(page.includes(`curl &#34;$TOLLGATE_BASE_URL${path}&#34;`), path);
  }
  assert.ok(page.includes("export TOLLGATE_BASE_URL=https://api.example.test\n"));
});

test("the key is sent where one is needed, and nowhere else", () => {
  const keyed = operationsOf(document).filter(({ operation }) => operation.security === undefined);
  assert.equal(page.match(/Bearer \$TOLLGATE_API_KEY/g)?.length, keyed.length);
});

test("every link within the page leads somewhere, and no id is there twice", () => {
  const ids = [...page.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id);
  assert.equal(new Set(ids).size, ids.length);
  for (const [, id] of page.matchAll(/(?:href="#|aria-labelledby=")([^"]+)"/g)) assert.ok(ids.includes(id), id);
});

test("every code is in the table of errors", () => {
  const table = page.slice(page.indexOf("<table>"), page.indexOf("</table>")).replaceAll("<wbr>", "");
  for (const code of PUBLIC_CODES) assert.ok(table.includes(`<code>${code}</code>`), code);
});

test("nothing is inline and nothing comes from another host", () => {
  assert.doesNotMatch(page, /<script|<style|\sstyle=|\son[a-z]+=/);
  assert.doesNotMatch(page, /(?:href|src)="(?:https?:|\/\/)/);
});

test("elements are closed in the order they were opened", () => {
  const open: string[] = [];
  const empty = new Set(["meta", "link", "wbr"]);
  for (const [, slash, name] of page.matchAll(/<(\/?)([a-z][a-z0-9]*)\b[^>]*>/g)) {
    if (name === undefined || empty.has(name)) continue;
    if (slash === "/") assert.equal(open.pop(), name);
    else open.push(name);
  }
  assert.deepEqual(open, []);
});

test("text put into a template cannot become markup", () => {
  assert.equal(
    html`<p title="${'"><b>'}">${["<i>", html`<b>&amp;</b>`, 1]}</p>`.text,
    '<p title="&#34;&#62;&#60;b&#62;">&#60;i&#62;<b>&amp;</b>1</p>',
  );
  assert.equal(
    marked("a `<b>` c\n\n- one\n- two").text,
    "<p>a <code>&#60;b&#62;</code> c</p>\n<ul><li>one</li><li>two</li></ul>\n",
  );
});

test("a schema is read out field by field", () => {
  const fields = new Map(
    fieldsOf(document, { $ref: "#/components/schemas/ChatRequest" }).map((one) => [one.path, one]),
  );
  const type = (path: string) => fields.get(path)?.type;
  assert.equal(type("temperature"), "number, 0 to 2");
  assert.equal(type("max_tokens"), "integer ≥ 1");
  assert.equal(type("seed"), "integer");
  assert.equal(type("stop"), "non-empty string or list of 1 to 4: non-empty string");
  assert.equal(type("messages"), "list of 1 or more: object");
  assert.equal(type("messages[].content[].type"), '"text"');
  assert.equal(type("stream_options.include_usage"), "boolean or null");
  assert.equal(fields.get("model")?.required, true);
  assert.equal(fields.get("stream")?.required, false);
});

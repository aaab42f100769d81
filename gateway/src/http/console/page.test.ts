import assert from "node:assert/strict";
import { test } from "node:test";
import { readPage } from "./page.ts";

const files = new Map(readPage().map((file) => [file.url, file]));
const html = files.get("/console")?.body ?? "";

test("the page is the same with and without a slash, and has its style and its script", () => {
  assert.deepEqual([...files.keys()], ["/console", "/console/", "/console/console.css", "/console/console.js"]);
  assert.equal(files.get("/console/")?.body, html);
  for (const url of ["/console/console.css", "/console/console.js"]) assert.ok(html.includes(`"${url}"`), url);
});

test("each file is guarded by a policy that lets in nothing from elsewhere", () => {
  for (const { url, headers } of files.values()) {
    const policy = headers["content-security-policy"] ?? "";
    assert.match(policy, /default-src 'none'/, url);
    assert.match(policy, /frame-ancestors 'none'/, url);
    assert.doesNotMatch(policy, /unsafe|https?:|\*/, url);
  }
});

test("nothing is inline and nothing comes from another host", () => {
  assert.doesNotMatch(html, /<script(?![^>]*\ssrc=)/);
  assert.doesNotMatch(html, /<style|\sstyle=|\son[a-z]+=/);
  for (const { url, body } of files.values()) assert.doesNotMatch(body, /https?:\/\/|["(]\/\//, url);
});

test("every input has its label, and every id the script asks for is there", () => {
  const ids = new Set([...html.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id));
  for (const [, id] of html.matchAll(/<input id="([^"]+)"/g)) assert.ok(html.includes(`<label for="${id}"`), id);
  const script = files.get("/console/console.js")?.body ?? "";
  for (const [, id] of script.matchAll(/(?:byId|say|sayRefusal)\("([^"]+)"/g)) assert.ok(ids.has(id), id);
  for (const [, id] of html.matchAll(/data-copy="([^"]+)"/g)) assert.ok(ids.has(id), id);
});

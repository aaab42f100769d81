import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { gunzipSync, gzipSync } from "node:zlib";
import type { FastifyInstance } from "fastify";
import { createServerWithoutRoutes } from "../../http/server.ts";
import { answerUnknownPaths } from "../../http/unknown-paths.ts";
import { makeTestHttpOptions } from "../../routes/testing/http-options.ts";
import { addDocsRoutes } from "./docs-routes.ts";
import { html } from "./html-template.ts";
import { ADDRESS_PLACEHOLDER, framePage } from "./page-frame.ts";

const folder = mkdtempSync(join(tmpdir(), "tollgate-docs-"));
after(() => rmSync(folder, { recursive: true }));

const page = (title: string): string =>
  framePage({
    title,
    body: html`<main><h1>${title}</h1><code>${ADDRESS_PLACEHOLDER}/v1</code></main>`,
    hasStatus: true,
  });
const PICTURE = Buffer.from([0x52, 0x49, 0x46, 0x46, 0xff, 0x00]);
const INDEX = '[{"heading":"Holds"}]';
const BROWSER = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };

function openDocs(options: Partial<Parameters<typeof addDocsRoutes>[1]> = {}): FastifyInstance {
  const app = createServerWithoutRoutes(makeTestHttpOptions());
  const finish = answerUnknownPaths(app);
  addDocsRoutes(app, { folder: join(folder, "dist"), ...options });
  finish();
  after(() => app.close());
  return app;
}

describe("the docs", () => {
  const early = openDocs();

  before(async () => {
    const none = await early.inject({ url: "/docs/guide" });
    assert.equal(none.statusCode, 503, "answers 503 before a build");
    assert.match(none.payload, /npm run docs/);
    for (const [name, content] of [
      ["dist/index.html", page("Tollgate API")],
      ["dist/node.html", page("Node API")],
      ["dist/not-found.html", page("Page not found")],
      ["dist/search.json", INDEX],
      ["dist/search.json.gz", gzipSync(INDEX)],
      ["dist/search.js", "export {}"],
      ["dist/guide/index.html", page("Guide")],
      ["dist/guide/operators.html", page("For operators")],
      ["dist/guide/operators/nats.html", page("NATS")],
      ["dist/guide/examples/a.py.html", page("a.py")],
      ["dist/guide/pictures/one.webp", PICTURE],
      ["dist/guide/pictures/one.svg", "<svg/>"],
      ["dist/.sources", "hash"],
      ["secret.html", "not in it"],
    ] as const) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), content);
    }
  });

  test("are served even if they are built after the gateway's start", async () => {
    assert.match((await early.inject({ url: "/docs/guide" })).payload, /<h1>Guide<\/h1>/);
  });

  for (const [url, title] of [
    ["/docs", "Tollgate API"],
    ["/docs/", "Tollgate API"],
    ["/docs/node", "Node API"],
    ["/docs/guide", "Guide"],
    ["/docs/guide/", "Guide"],
    ["/docs/guide/operators", "For operators"],
    ["/docs/guide/operators/", "For operators"],
    ["/docs/guide/operators/nats", "NATS"],
    ["/docs/guide/examples/a.py", "a.py"],
  ] as const) {
    test(`serve ${url} as a cacheable page with security headers`, async () => {
      const app = openDocs({ publicUrl: "https://api.example.test/" });
      const { statusCode, headers, payload } = await app.inject({ url });
      assert.equal(statusCode, 200);
      assert.ok(payload.includes(`<h1>${title}</h1>`));
      assert.equal(headers["content-type"], "text/html; charset=utf-8");
      assert.equal(headers["cache-control"], "public, max-age=300");
      assert.equal(headers["x-content-type-options"], "nosniff");
      const policy = String(headers["content-security-policy"]);
      assert.match(policy, /default-src 'none'.*script-src 'self'.*connect-src 'self'/);
      assert.doesNotMatch(policy, /unsafe|https?:|\*|data:/);
      const again = await app.inject({ url, headers: { "if-none-match": String(headers.etag) } });
      assert.deepEqual([again.statusCode, again.payload], [304, ""]);
    });
  }

  test("serve pictures unchanged, with a policy that prevents them from loading or running anything", async () => {
    const picture = await openDocs().inject({ url: "/docs/guide/pictures/one.webp" });
    assert.equal(picture.headers["content-type"], "image/webp");
    assert.equal(picture.headers["cache-control"], "public, max-age=300");
    assert.deepEqual(picture.rawPayload, PICTURE);
    const drawing = await openDocs().inject({ url: "/docs/guide/pictures/one.svg" });
    assert.equal(drawing.headers["content-type"], "image/svg+xml");
    assert.match(String(drawing.headers["content-security-policy"]), /default-src 'none'/);
    assert.equal(drawing.payload, "<svg/>");
  });

  test("compress the search index for clients that accept it", async () => {
    const ask = (encodings: string) =>
      openDocs().inject({ url: "/docs/search.json", headers: { "accept-encoding": encodings } });
    for (const encodings of ["gzip, deflate, br", "br, gzip;q=0.5"]) {
      const { headers, rawPayload } = await ask(encodings);
      assert.deepEqual([headers["content-encoding"], headers.vary], ["gzip", "accept-encoding"]);
      assert.equal(String(gunzipSync(rawPayload)), INDEX);
    }
    for (const encodings of ["identity", "gzip;q=0, br"]) {
      const { headers, payload } = await ask(encodings);
      assert.deepEqual([headers["content-encoding"], headers.vary, payload], [undefined, "accept-encoding", INDEX]);
    }
  });

  for (const path of [
    "none",
    "not-found",
    "not-found.html",
    "search.json.gz",
    "guide/none",
    "guide/pictures",
    "guide/pictures/two.webp",
    ".sources",
    "..%2fsecret",
  ]) {
    test(`return 404 for ${path}, as JSON to a program and as a page to a browser`, async () => {
      const url = `/docs/${path}`;
      const program = await openDocs().inject({ url });
      assert.equal(program.statusCode, 404, program.payload);
      assert.equal(JSON.parse(program.payload).error.type, "not_found_error");
      const browser = await openDocs().inject({ url, headers: BROWSER });
      assert.equal(browser.statusCode, 404);
      assert.equal(browser.headers["content-type"], "text/html; charset=utf-8");
      assert.match(browser.payload, /<h1>Page not found<\/h1>/);
      assert.deepEqual([browser.headers.vary, browser.headers["cache-control"]], ["accept", "no-cache"]);
      assert.match(String(browser.headers["content-security-policy"]), /default-src 'none'/);
    });
  }

  for (const path of ["../secret", "../secret.html", "%2e%2e/secret.html"]) {
    test(`return 404 for ${path}, which is outside the docs folder`, async () => {
      const { statusCode, payload } = await openDocs().inject({ url: `/docs/${path}`, headers: BROWSER });
      assert.equal(statusCode, 404, payload);
    });
  }

  test("have no link to the status page if it is turned off", async () => {
    const on = await openDocs().inject({ url: "/docs/guide/operators" });
    assert.match(on.payload, /href="\/status"/);
    const off = await openDocs({ hasStatus: false }).inject({ url: "/docs/guide/operators" });
    assert.doesNotMatch(off.payload, /\/status/);
    assert.match(off.payload, /<h1>For operators/);
  });
});

describe("the base URL in examples", () => {
  const seen = async (headers: Record<string, string>, trustedProxies = 0) => {
    const { payload, headers: said } = await openDocs({ trustedProxies }).inject({ url: "/docs/guide", headers });
    const [, address] = /<code>(.*)\/v1<\/code>/.exec(payload) ?? [];
    return { address, payload, keep: said["cache-control"], etag: said.etag };
  };

  test("is the configured public URL, without a trailing slash", async () => {
    const { payload } = await openDocs({ publicUrl: "https://api.example.test/" }).inject({ url: "/docs" });
    assert.ok(payload.includes("<code>https://api.example.test/v1</code>"));
  });

  test("is the URL that the reader used, and a page that contains it is cached for that reader only", async () => {
    const one = await seen({ host: "gateway.example:8443" });
    assert.equal(one.address, "http://gateway.example:8443");
    assert.ok(!one.payload.includes("address.invalid"));
    assert.equal(one.keep, "private, max-age=300");
    assert.notEqual((await seen({ host: "other.example" })).etag, one.etag);
    assert.equal((await seen({ host: "[2001:DB8::1]:80" })).address, "http://[2001:db8::1]");
  });

  test("is HTTPS if a trusted proxy reports HTTPS", async () => {
    const headers = { host: "gateway.example", "x-forwarded-proto": "http, https" };
    assert.equal((await seen(headers, 1)).address, "https://gateway.example");
    assert.equal((await seen(headers)).address, "http://gateway.example");
  });

  test("never contains text that a caller put into the Host header", async () => {
    for (const host of [
      'x"><script>alert(1)</script>',
      "x$(id)",
      "a;b",
      "u@h",
      "h/p",
      "`id`",
      "x'y",
      "a b",
      "h:1:2",
      "h:99999",
    ]) {
      const { address, payload } = await seen({ host });
      assert.equal(address, "http://localhost:8080", host);
      if (host.length > 5) assert.ok(!payload.includes(host), host);
    }
  });
});

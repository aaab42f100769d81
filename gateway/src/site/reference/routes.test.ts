import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, describe, test } from "node:test";
import { documentOf } from "@tollgate/api/openapi/document.ts";
import { textOf } from "@tollgate/api/openapi/openapi.ts";
import type { FastifyInstance } from "fastify";
import { bareServer } from "../../http/server.ts";
import { refuseTheRest } from "../../http/unknown-paths.ts";
import { testDoor } from "../../routes/testing/door.ts";
import { DOCUMENTS } from "./documents.ts";
import { referenceRoutes } from "./routes.ts";

function openReference(publicUrl?: string, trustedProxies = 0): FastifyInstance {
  const app = bareServer(testDoor());
  const finish = refuseTheRest(app);
  referenceRoutes(app, { publicUrl, door: testDoor({ trustedProxies }) });
  finish();
  return app;
}

const app = openReference("https://api.example.test/");
after(() => app.close());

const URLS = [
  ...["/openapi.json", "/openapi/node.json", "/openapi/console.json"],
  ...["/docs", "/docs/", "/docs/node", "/docs/node/", "/docs/console", "/docs/console/"],
  ...["/docs/reference.css", "/docs/guide.css", "/docs/reference.js", "/docs/mark.svg", "/"],
];

describe("200", () => {
  test("each document is the one that is committed", async () => {
    for (const { url, api } of DOCUMENTS) {
      const answer = await app.inject({ url });
      assert.equal(answer.statusCode, 200);
      assert.equal(answer.headers["content-type"], "application/json; charset=utf-8");
      assert.equal(answer.payload, textOf(documentOf(api)));
    }
  });

  test("each page is the same with and without a slash, names its style and the public address", async () => {
    for (const { pageUrl } of DOCUMENTS) {
      const [bare, slashed] = await Promise.all([pageUrl, `${pageUrl}/`].map((url) => app.inject({ url })));
      assert.equal(bare?.headers["content-type"], "text/html; charset=utf-8");
      assert.equal(bare?.payload, slashed?.payload);
      assert.ok(bare?.payload.includes('"/docs/reference.css"'));
      assert.match(bare?.payload ?? "", /TOLLGATE_BASE_URL=https:\/\/api\.example\.test[\n<]/);
    }
  });

  test("the style comes from the gateway and asks for nothing else", async () => {
    const { headers, payload } = await app.inject({ url: "/docs/reference.css" });
    assert.equal(headers["content-type"], "text/css; charset=utf-8");
    assert.match(payload, /color-scheme: light dark/);
    assert.doesNotMatch(payload, /url\(|@import/);
  });

  for (const url of URLS) {
    test(`${url} may be kept for five minutes and is guarded`, async () => {
      const { headers } = await app.inject({ url });
      assert.equal(headers["cache-control"], "public, max-age=300");
      assert.equal(headers["x-content-type-options"], "nosniff");
      assert.match(String(headers["x-request-id"]), /^req_[0-9a-z]{26}$/);
      const policy = String(headers["content-security-policy"]);
      assert.match(policy, /default-src 'none'/);
      assert.match(policy, /frame-ancestors 'none'/);
      assert.match(policy, /script-src 'self'/);
      assert.doesNotMatch(policy, /unsafe|https?:|\*|data:/);
    });
  }
});

describe("304", () => {
  for (const [name, wrap] of [
    ["the tag", (tag: string) => tag],
    ["a weak tag", (tag: string) => `W/${tag}`],
    ["one of several tags", (tag: string) => `"other", ${tag}`],
    ["any tag", () => "*"],
  ] as const) {
    test(`for a client that has ${name}`, async () => {
      for (const url of URLS) {
        const tag = String((await app.inject({ url })).headers.etag);
        const answer = await app.inject({ url, headers: { "if-none-match": wrap(tag) } });
        assert.equal(answer.statusCode, 304, url);
        assert.equal(answer.payload, "");
        assert.equal(answer.headers.etag, tag);
        assert.equal(answer.headers["content-length"], undefined);
      }
    });
  }

  test("not for a client that has something else", async () => {
    const answer = await app.inject({ url: "/openapi.json", headers: { "if-none-match": '"other"' } });
    assert.equal(answer.statusCode, 200);
  });
});

test("405: other methods are told which one there is", async () => {
  for (const url of URLS) {
    const answer = await app.inject({ url, method: "POST" });
    assert.equal(answer.statusCode, 405, url);
    assert.equal(answer.headers.allow, url === "/" ? "GET, HEAD" : "GET");
    assert.equal(answer.json().error.type, "invalid_request_error");
  }
});

describe("the address in the examples", () => {
  const seen = async (headers: Record<string, string>, trustedProxies = 0) => {
    const local = openReference(undefined, trustedProxies);
    const { payload, headers: said } = await local.inject({ url: "/docs", headers });
    await local.close();
    const [, address] = /TOLLGATE_BASE_URL=(\S+)\n/.exec(payload) ?? [];
    return { address, payload, keep: said["cache-control"], etag: said.etag };
  };

  test("is the one the reader came by, and is kept for that reader alone", async () => {
    const one = await seen({ host: "gateway.example:8443" });
    assert.equal(one.address, "http://gateway.example:8443");
    assert.ok(one.payload.includes("http://gateway.example:8443/v1"));
    assert.ok(!one.payload.includes("address.invalid"));
    assert.equal(one.keep, "private, max-age=300");
    assert.notEqual((await seen({ host: "other.example" })).etag, one.etag);
    assert.equal((await seen({ host: "[2001:DB8::1]:80" })).address, "http://[2001:db8::1]");
  });

  test("is HTTPS where a proxy that is trusted says so", async () => {
    const headers = { host: "gateway.example", "x-forwarded-proto": "http, https" };
    assert.equal((await seen(headers, 1)).address, "https://gateway.example");
    assert.equal((await seen(headers)).address, "http://gateway.example");
  });

  test("is never a text that a caller made up", async () => {
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

describe("the bare address", () => {
  const ask = (accept: string | undefined, method: "GET" | "HEAD" = "GET") =>
    app.inject({ url: "/", method, headers: accept === undefined ? {} : { accept } });

  test("tells programs where things are", async () => {
    for (const accept of ["application/json", "*/*", undefined, "text/html;q=0, */*"]) {
      const { headers, payload } = await ask(accept);
      assert.equal(headers["content-type"], "application/json; charset=utf-8", accept);
      assert.equal(headers.vary, "accept");
      assert.deepEqual(JSON.parse(payload), {
        object: "gateway",
        name: "Tollgate",
        base_url: "https://api.example.test/v1",
        docs_url: "https://api.example.test/docs",
        console_url: "https://api.example.test/console/",
        status_url: "https://api.example.test/status",
      });
    }
  });

  test("is a page to a browser, with the address, a line to paste and the ways on", async () => {
    const { headers, payload } = await ask("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8");
    assert.equal(headers["content-type"], "text/html; charset=utf-8");
    assert.ok(payload.includes("<code>https://api.example.test/v1</code>"));
    assert.ok(payload.includes("curl https://api.example.test/v1/models -H"));
    for (const url of ["/console/", "/docs", "/status"]) assert.ok(payload.includes(`href="${url}"`), url);
  });

  test("answers HEAD as GET", async () => {
    const [head, get] = [await ask("text/html", "HEAD"), await ask("text/html")];
    assert.equal(head.statusCode, 200);
    for (const name of ["content-type", "content-length", "etag"]) assert.equal(head.headers[name], get.headers[name]);
  });
});

test("the pages have the console's colours and mark", () => {
  const read = (path: string): string => readFileSync(new URL(path, import.meta.url), "utf8");
  const consoles = read("../../../../console/src/styles.css");
  const [light = "", dark = ""] = [...consoles.matchAll(/:root[^{]*\{[^}]*\}/g)].map(([rule]) => rule);
  const pairs = [...read("page/reference.css").matchAll(/--([\w-]+): light-dark\((#\w+), (#\w+)\);/g)];
  assert.ok(pairs.length > 8);
  for (const [, name, day, night] of pairs) {
    assert.ok(light.includes(`--${name}: ${day};`), name);
    assert.ok(dark.includes(`--${name}: ${night};`), name);
  }
  assert.equal(read("page/mark.svg"), read("../../../../console/public/favicon.svg"));
});

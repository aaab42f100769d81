import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { documentOf } from "@tollgate/api/openapi/document.ts";
import { textOf } from "@tollgate/api/openapi/openapi.ts";
import type { FastifyInstance } from "fastify";
import { bareServer } from "../server.ts";
import { testDoor } from "../testing/door.ts";
import { refuseTheRest } from "../unknown-paths.ts";
import { DOCUMENTS } from "./documents.ts";
import { referenceRoutes } from "./routes.ts";

function openReference(publicUrl?: string): FastifyInstance {
  const app = bareServer(testDoor());
  const finish = refuseTheRest(app);
  referenceRoutes(app, publicUrl === undefined ? {} : { publicUrl });
  finish();
  return app;
}

const app = openReference("https://api.example.test/");
after(() => app.close());

const URLS = [
  ...["/openapi.json", "/openapi/node.json", "/openapi/console.json"],
  ...["/docs", "/docs/", "/docs/node", "/docs/node/", "/docs/console", "/docs/console/"],
  "/docs/reference.css",
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
    assert.match(payload, /prefers-color-scheme: dark/);
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
      assert.doesNotMatch(policy, /unsafe|https?:|\*|script-src/);
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
    assert.equal(answer.headers.allow, "GET");
    assert.equal(answer.json().error.type, "invalid_request_error");
  }
});

test("without a public address the examples name the one of npm start", async () => {
  const local = openReference();
  const { payload } = await local.inject({ url: "/docs" });
  assert.ok(payload.includes("TOLLGATE_BASE_URL=http://localhost:8080\n"));
  await local.close();
});

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, describe, test } from "node:test";
import { buildDocument } from "@tollgate/api/openapi/document.ts";
import { formatDocument } from "@tollgate/api/openapi/openapi-types.ts";
import { createServerWithoutRoutes } from "../../http/server.ts";
import { answerUnknownPaths } from "../../http/unknown-paths.ts";
import { makeTestHttpOptions } from "../../routes/testing/http-options.ts";
import { DOCUMENTS } from "./api-documents.ts";
import { addReferenceRoutes } from "./routes.ts";

const app = createServerWithoutRoutes(makeTestHttpOptions());
const finish = answerUnknownPaths(app);
addReferenceRoutes(app, { publicUrl: "https://api.example.test/", door: makeTestHttpOptions() });
finish();
after(() => app.close());

const URLS = [
  ...["/openapi.json", "/openapi/node.json", "/openapi/console.json"],
  ...["/docs/reference.css", "/docs/guide.css", "/docs/reference.js", "/docs/own-key.js", "/docs/mark.svg", "/"],
];

describe("status 200", () => {
  test("serves each API document as JSON, equal to the one built from the code", async () => {
    for (const { url, api } of DOCUMENTS) {
      const answer = await app.inject({ url });
      assert.equal(answer.statusCode, 200);
      assert.equal(answer.headers["content-type"], "application/json; charset=utf-8");
      assert.equal(answer.payload, formatDocument(buildDocument(api)));
    }
  });

  test("serves the style sheet, which loads no other files", async () => {
    const { headers, payload } = await app.inject({ url: "/docs/reference.css" });
    assert.equal(headers["content-type"], "text/css; charset=utf-8");
    assert.match(payload, /color-scheme: light dark/);
    assert.doesNotMatch(payload, /url\(|@import/);
  });

  for (const url of URLS) {
    test(`serves ${url} with five minutes of caching and security headers`, async () => {
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

describe("status 304", () => {
  for (const [name, wrap] of [
    ["the tag", (tag: string) => tag],
    ["a weak tag", (tag: string) => `W/${tag}`],
    ["one of several tags", (tag: string) => `"other", ${tag}`],
    ["any tag", () => "*"],
  ] as const) {
    test(`is returned if the client has ${name}`, async () => {
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

  test("is not returned if the client has an old version", async () => {
    const answer = await app.inject({ url: "/openapi.json", headers: { "if-none-match": '"other"' } });
    assert.equal(answer.statusCode, 200);
  });
});

test("a method other than GET and HEAD gets 405 with a list of the allowed methods", async () => {
  for (const url of URLS) {
    const answer = await app.inject({ url, method: "POST" });
    assert.equal(answer.statusCode, 405, url);
    assert.equal(answer.headers.allow, "GET, HEAD");
    assert.equal(answer.json().error.type, "invalid_request_error");
  }
});

describe("the root path", () => {
  const ask = (accept: string | undefined, method: "GET" | "HEAD" = "GET") =>
    app.inject({ url: "/", method, headers: accept === undefined ? {} : { accept } });

  test("lists the service's URLs as JSON for programs", async () => {
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

  test("returns an HTML page to a browser, with the base URL, an example command and links", async () => {
    const { headers, payload } = await ask("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8");
    assert.equal(headers["content-type"], "text/html; charset=utf-8");
    assert.ok(payload.includes("<code>https://api.example.test/v1</code>"));
    assert.ok(payload.includes("curl https://api.example.test/v1/models -H"));
    for (const url of ["/console/", "/docs", "/status"]) assert.ok(payload.includes(`href="${url}"`), url);
  });

  test("answers HEAD like GET", async () => {
    const [head, get] = [await ask("text/html", "HEAD"), await ask("text/html")];
    assert.equal(head.statusCode, 200);
    for (const name of ["content-type", "content-length", "etag"]) assert.equal(head.headers[name], get.headers[name]);
  });
});

test("highlighted code has sufficient contrast in both themes", () => {
  const css = readFileSync(new URL("page/reference.css", import.meta.url), "utf8");
  const [, dayGround = "", nightGround = ""] = /--surface: light-dark\((#\w+), (#\w+)\);/.exec(css) ?? [];
  const colours = [...css.matchAll(/(pre \.\w|\.prompt) \{\s+color: light-dark\((#\w+), (#\w+)\);/g)];
  assert.equal(colours.length, 8);
  for (const [, name, day = "", night = ""] of colours) {
    assert.ok(contrast(day, dayGround) >= 4.5, `${name} by day`);
    assert.ok(contrast(night, nightGround) >= 4.5, `${name} by night`);
  }
});

/** The contrast ratio of two colors, as defined by WCAG 2. */
function contrast(one: string, other: string): number {
  const luminance = (colour: string): number => {
    const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
      const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

test("pages use the same colors and logo as the console", () => {
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

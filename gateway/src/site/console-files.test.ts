import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from "node:zlib";
import { createServerWithoutRoutes } from "../http/server.ts";
import { answerUnknownPaths } from "../http/unknown-paths.ts";
import { makeTestHttpOptions } from "../routes/testing/http-options.ts";
import { addConsoleFileRoutes } from "./console-files.ts";

const PAGE = "<!doctype html><title>Tollgate</title>";
const SCRIPT = `console.log("${"x".repeat(2000)}");`;

const dist = mkdtempSync(join(tmpdir(), "tollgate-console-"));
after(() => rmSync(dist, { recursive: true }));

function writeBuild(): void {
  mkdirSync(join(dist, "assets"), { recursive: true });
  mkdirSync(join(dist, ".vite"), { recursive: true });
  writeFileSync(join(dist, "index.html"), PAGE);
  writeFileSync(join(dist, "favicon.svg"), "1;");
  writeFileSync(join(dist, "assets/index-abc.js"), SCRIPT);
  writeFileSync(join(dist, "assets/index-abc.js.br"), brotliCompressSync(SCRIPT));
  writeFileSync(join(dist, "assets/index-abc.js.gz"), gzipSync(SCRIPT));
  writeFileSync(join(dist, ".vite/manifest.json"), "{}");
  writeFileSync(join(dist, ".sources"), "hash");
}

function serve() {
  const app = createServerWithoutRoutes(makeTestHttpOptions());
  const finish = answerUnknownPaths(app);
  addConsoleFileRoutes(app, dist);
  finish();
  return app;
}

describe("the console's files", () => {
  const app = serve();
  const get = (url: string, headers: Record<string, string> = {}) => app.inject({ method: "GET", url, headers });

  test("are replaced by a page with build instructions until the console is built", async () => {
    const none = await get("/console/");
    assert.equal(none.statusCode, 503);
    assert.match(none.body, /node tools\/build-console\.mjs/);
    writeBuild();
    const there = await get("/console/");
    assert.equal(there.statusCode, 200);
    assert.equal(there.body, PAGE);
  });

  test("include one HTML page for every console path, which browsers revalidate each time", async () => {
    for (const url of [
      "/console",
      "/console/",
      "/console/keys",
      "/console/requests?model=tiny-3b",
      "/console/operator/nodes",
    ]) {
      const { statusCode, body, headers } = await get(url);
      assert.equal(statusCode, 200, url);
      assert.equal(body, PAGE, url);
      assert.equal(headers["cache-control"], "no-cache", url);
      assert.equal(headers["content-type"], "text/html; charset=utf-8", url);
    }
  });

  test("have a content security policy that forbids inline code and other origins", async () => {
    const { headers } = await get("/console/");
    const policy = String(headers["content-security-policy"]);
    for (const rule of ["default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"]) {
      assert.ok(policy.includes(rule), rule);
    }
    assert.doesNotMatch(policy, /unsafe|https?:|data:|\*/);
    assert.equal(headers["x-content-type-options"], "nosniff");
  });

  test("are cached for a year if their name contains a hash", async () => {
    const asset = await get("/console/assets/index-abc.js");
    assert.equal(asset.headers["cache-control"], "public, max-age=31536000, immutable");
    assert.equal(asset.headers["content-type"], "text/javascript; charset=utf-8");
    assert.equal(asset.body, SCRIPT);
    assert.equal((await get("/console/favicon.svg")).headers["cache-control"], "no-cache");
  });

  test("are compressed for clients that accept it", async () => {
    const ask = (accept: string) => get("/console/assets/index-abc.js", { "accept-encoding": accept });
    const br = await ask("gzip, deflate, br");
    assert.equal(br.headers["content-encoding"], "br");
    assert.equal(brotliDecompressSync(br.rawPayload).toString(), SCRIPT);
    const gzip = await ask("gzip, br;q=0");
    assert.equal(gzip.headers["content-encoding"], "gzip");
    assert.equal(gunzipSync(gzip.rawPayload).toString(), SCRIPT);
    const plain = await ask("identity");
    assert.equal(plain.headers["content-encoding"], undefined);
    for (const { headers } of [br, gzip, plain]) assert.equal(headers.vary, "accept-encoding");
  });

  test("return 404 if they are missing, outside the build or not meant for browsers", async () => {
    for (const path of [
      "assets/index-old.js",
      "assets/index",
      "robots.txt",
      ".vite/manifest.json",
      "assets/index-abc.js.br",
      "../package.json",
      "%2e%2e/package.json",
      "..%2fpackage.json",
    ]) {
      const { statusCode, body } = await get(`/console/${path}`);
      assert.equal(statusCode, 404, path);
      assert.doesNotMatch(body, /"name"|manifest"/, path);
    }
    assert.doesNotMatch((await get("/console/.sources")).body, /hash/);
  });

  test("are never returned for API paths", async () => {
    for (const url of ["/console/api", "/console/api/", "/console/api/no-such"]) {
      const { statusCode, headers } = await get(url);
      assert.equal(statusCode, 404, url);
      assert.equal(headers["content-type"], "application/json; charset=utf-8", url);
    }
    const { statusCode, headers } = await app.inject({
      method: "POST",
      url: "/console/keys",
      headers: { "sec-fetch-site": "same-origin" },
    });
    assert.equal(statusCode, 405);
    assert.equal(headers.allow, "GET, HEAD");
  });
});

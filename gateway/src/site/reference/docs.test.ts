import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { FastifyInstance } from "fastify";
import { bareServer } from "../../http/server.ts";
import { refuseTheRest } from "../../http/unknown-paths.ts";
import { testDoor } from "../../routes/testing/door.ts";
import { framed } from "./frame.ts";
import { guideRoutes } from "./guide.ts";
import { html } from "./html.ts";

const folder = mkdtempSync(join(tmpdir(), "tollgate-guide-"));
after(() => rmSync(folder, { recursive: true }));

const page = (title: string): string => framed({ title, body: html`<main><h1>${title}</h1></main>`, hasStatus: true });
const PICTURE = Buffer.from([0x52, 0x49, 0x46, 0x46, 0xff, 0x00]);

function openGuide(options: { hasStatus?: boolean; folder?: string } = {}): FastifyInstance {
  const app = bareServer(testDoor());
  const finish = refuseTheRest(app);
  guideRoutes(app, { folder: join(folder, "dist"), ...options });
  finish();
  after(() => app.close());
  return app;
}

describe("the guide", () => {
  const early = openGuide();

  before(async () => {
    const none = await early.inject({ url: "/docs/guide" });
    assert.equal(none.statusCode, 503, "before there is one, it says so");
    assert.match(none.payload, /npm run docs/);
    mkdirSync(join(folder, "dist/operators"), { recursive: true });
    mkdirSync(join(folder, "dist/pictures"), { recursive: true });
    writeFileSync(join(folder, "dist/index.html"), page("Guide"));
    writeFileSync(join(folder, "dist/operators.html"), page("For operators"));
    writeFileSync(join(folder, "dist/operators/nats.html"), page("NATS"));
    writeFileSync(join(folder, "dist/pictures/one.webp"), PICTURE);
    writeFileSync(join(folder, "dist/pictures/one.svg"), "<svg/>");
    writeFileSync(join(folder, "dist/.sources"), "hash");
    writeFileSync(join(folder, "secret.html"), "not in it");
  });

  test("built after the start, it is found", async () => {
    assert.match((await early.inject({ url: "/docs/guide" })).payload, /<h1>Guide<\/h1>/);
  });

  for (const [url, title] of [
    ["/docs/guide", "Guide"],
    ["/docs/guide/", "Guide"],
    ["/docs/guide/operators", "For operators"],
    ["/docs/guide/operators/", "For operators"],
    ["/docs/guide/operators/nats", "NATS"],
  ] as const) {
    test(`${url} is a page that may be kept, with the guards of all pages`, async () => {
      const { statusCode, headers, payload } = await openGuide().inject({ url });
      assert.equal(statusCode, 200);
      assert.ok(payload.includes(`<h1>${title}</h1>`));
      assert.equal(headers["content-type"], "text/html; charset=utf-8");
      assert.equal(headers["cache-control"], "public, max-age=300");
      assert.equal(headers["x-content-type-options"], "nosniff");
      assert.match(String(headers["content-security-policy"]), /default-src 'none'/);
      const again = await openGuide().inject({ url, headers: { "if-none-match": String(headers.etag) } });
      assert.deepEqual([again.statusCode, again.payload], [304, ""]);
    });
  }

  test("a picture comes as it is", async () => {
    const { headers, rawPayload } = await openGuide().inject({ url: "/docs/guide/pictures/one.webp" });
    assert.equal(headers["content-type"], "image/webp");
    assert.deepEqual(rawPayload, PICTURE);
  });

  test("a drawing comes as it is, and may load and run nothing", async () => {
    const { headers, payload } = await openGuide().inject({ url: "/docs/guide/pictures/one.svg" });
    assert.equal(headers["content-type"], "image/svg+xml");
    assert.match(String(headers["content-security-policy"]), /default-src 'none'/);
    assert.equal(payload, "<svg/>");
  });

  for (const path of [
    "none",
    "pictures",
    "pictures/two.webp",
    ".sources",
    "../secret",
    "..%2fsecret",
    "%2e%2e/secret.html",
  ]) {
    test(`404: ${path}`, async () => {
      const { statusCode, payload } = await openGuide().inject({ url: `/docs/guide/${path}` });
      assert.equal(statusCode, 404, payload);
      assert.equal(JSON.parse(payload).error.type, "not_found_error");
    });
  }

  test("where no status is told, no page links to it", async () => {
    const told = await openGuide().inject({ url: "/docs/guide/operators" });
    assert.match(told.payload, /href="\/status"/);
    const untold = await openGuide({ hasStatus: false }).inject({ url: "/docs/guide/operators" });
    assert.doesNotMatch(untold.payload, /\/status/);
    assert.match(untold.payload, /<h1>For operators/);
  });
});

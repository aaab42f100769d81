/** The wrong method of a path is told which there are, on every door; what is no path is a 404. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { FastifyInstance } from "fastify";
import { receiptKeyRoutes } from "./receipt-keys.ts";
import { consoleApiTable } from "./reference/console/api.ts";
import { nodeApiTable } from "./reference/nodes/api.ts";
import { referenceRoutes } from "./reference/routes.ts";
import { door } from "./reference/testing/app.ts";
import { openPlatform, type TestPlatform } from "./reference/testing/platform.ts";
import { internalServer } from "./server.ts";

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"] as const;

let platform: TestPlatform;
let internal: FastifyInstance;
before(async () => {
  platform = await openPlatform();
  receiptKeyRoutes(platform.app, { door, keys: async () => [] });
  referenceRoutes(platform.app, { door });
  internal = internalServer({ ready: async () => undefined, metrics: async () => ({ contentType: "x", text: "" }) });
});
after(async () => {
  await internal.close();
  await platform.close();
});

/** The methods of every path of a documented API. */
function documented({ endpoints }: typeof nodeApiTable): [string, string[]][] {
  const methods = new Map<string, string[]>();
  for (const { at } of endpoints) {
    const [method, path] = at.split(" ") as [string, string];
    const url = path.replaceAll(/\{[^}]*\}/g, "x");
    methods.set(url, [...(methods.get(url) ?? []), method]);
  }
  return [...methods];
}

const DOORS: [string, () => FastifyInstance, [string, string[]][]][] = [
  ["the node API", () => platform.app, documented(nodeApiTable)],
  ["the console API", () => platform.app, documented(consoleApiTable)],
  ["the receipts' keys", () => platform.app, [["/.well-known/tollgate-receipts", ["GET"]]]],
  ["the reference", () => platform.app, ["/docs", "/openapi.json", "/openapi/node.json"].map((url) => [url, ["GET"]])],
  ["the internal port", () => internal, ["/healthz", "/readyz", "/metrics"].map((url) => [url, ["GET"]])],
];

describe("405 with the methods there are", () => {
  for (const [name, app, paths] of DOORS) {
    test(name, async () => {
      assert.ok(paths.length > 0);
      for (const [url, allowed] of paths) {
        for (const method of METHODS.filter((one) => !allowed.includes(one))) {
          const { statusCode, headers, payload } = await app().inject({ method, url });
          assert.equal(statusCode, 405, `${method} ${url}: ${payload}`);
          assert.deepEqual(String(headers.allow).split(", ").sort(), [...allowed].sort(), url);
        }
      }
    });
  }
});

test("what is no path of the node API is told so, whatever the method and the token", async () => {
  for (const method of ["GET", "POST", "DELETE"] as const) {
    for (const url of ["/node/v1", "/node/v1/nothing", "/node/v1/nodes/x/y/z"]) {
      const answer = await platform.app.inject({ method, url });
      assert.deepEqual([answer.statusCode, answer.json().error.type], [404, "not_found_error"], url);
    }
  }
});

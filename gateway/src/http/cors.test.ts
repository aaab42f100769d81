/** The CORS headers of the public API, with a server that is reached without a network. */
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import type { FastifyInstance, LightMyRequestResponse } from "fastify";
import { makeTestHttpOptions } from "../routes/testing/http-options.ts";
import type { CorsOrigins } from "./cors.ts";
import { createServerWithoutRoutes } from "./server.ts";
import { answerUnknownPaths } from "./unknown-paths.ts";

const APP = "https://app.example";

describe("CORS", () => {
  const apps: FastifyInstance[] = [];
  after(async () => {
    for (const app of apps) await app.close();
  });
  const serverFor = (cors?: CorsOrigins): FastifyInstance => {
    const app = createServerWithoutRoutes(makeTestHttpOptions({ ...(cors !== undefined && { cors }) }));
    const finish = answerUnknownPaths(app);
    app.get("/v1/things", async () => ({ ok: true }));
    app.get("/console/things", async () => ({ ok: true }));
    finish();
    apps.push(app);
    return app;
  };
  const corsOf = ({ headers }: LightMyRequestResponse): object =>
    Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith("access-control-")));
  const ask = (app: FastifyInstance, url: string, origin: string | undefined, method: "GET" | "OPTIONS" = "GET") =>
    app.inject({ method, url, headers: { ...(origin !== undefined && { origin }) } });
  const EXPOSED =
    "x-request-id, retry-after, x-should-retry, x-tollgate-ignored, " +
    "x-ratelimit-limit-requests, x-ratelimit-remaining-requests, x-ratelimit-reset-requests, " +
    "x-ratelimit-limit-tokens, x-ratelimit-remaining-tokens, x-ratelimit-reset-tokens";

  test("lets any origin call and read the API without credentials", async () => {
    const app = serverFor("any");
    const due = { "access-control-allow-origin": "*", "access-control-expose-headers": EXPOSED };
    for (const url of ["/v1/things", "/v1/things?a=b", "/v1", "/v1/nothing", "/v1/%zz"]) {
      for (const origin of [APP, "null", undefined]) {
        const got = await ask(app, url, origin);
        assert.deepEqual(corsOf(got), due, url);
        assert.equal(got.headers.vary, undefined);
      }
    }
  });

  test("answers a preflight request without a key on any path", async () => {
    const app = serverFor("any");
    for (const url of ["/v1/things", "/v1/nothing", "/v1/messages"]) {
      const got = await ask(app, url, APP, "OPTIONS");
      assert.deepEqual([got.statusCode, got.payload], [204, ""]);
      assert.equal(got.headers["access-control-allow-methods"], "GET, POST");
      assert.equal(got.headers["access-control-allow-headers"], "authorization, *");
      assert.equal(got.headers["access-control-max-age"], "86400");
      assert.equal(got.headers["access-control-allow-credentials"], undefined);
      assert.match(String(got.headers["x-request-id"]), /^req_/);
    }
  });

  test("sends headers for the public API only", async () => {
    const app = serverFor("any");
    for (const url of ["/console/things", "/v1x", "/V1/things", "/docs?/v1/things", "/"]) {
      assert.deepEqual(corsOf(await ask(app, url, APP)), {}, url);
      const asked = await ask(app, url, APP, "OPTIONS");
      assert.notEqual(asked.statusCode, 204, url);
      assert.deepEqual(corsOf(asked), {}, url);
    }
  });

  test("allows only listed origins, and sends Vary: Origin to caches", async () => {
    const app = serverFor([APP, "http://localhost:5173"]);
    for (const origin of [APP, "http://localhost:5173"]) {
      for (const method of ["GET", "OPTIONS"] as const) {
        const { headers } = await ask(app, "/v1/things", origin, method);
        assert.deepEqual([headers["access-control-allow-origin"], headers.vary], [origin, "origin"]);
        assert.equal(headers["access-control-expose-headers"], EXPOSED);
      }
    }
    for (const origin of ["https://other.example", `${APP}.evil`, "HTTPS://APP.EXAMPLE", "null", "*", undefined]) {
      const { headers } = await ask(app, "/v1/things", origin);
      assert.deepEqual([headers["access-control-allow-origin"], headers.vary], [undefined, "origin"], origin);
    }
  });

  test("sends no headers if no origins are configured", async () => {
    for (const app of [serverFor([]), serverFor()]) {
      assert.deepEqual(corsOf(await ask(app, "/v1/things", APP)), {});
      const asked = await ask(app, "/v1/things", APP, "OPTIONS");
      assert.deepEqual([asked.statusCode, asked.headers.allow], [405, "GET, HEAD"]);
      assert.deepEqual(corsOf(asked), {});
    }
  });
});

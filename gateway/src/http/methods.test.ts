/**
 * The served routes are exactly the declared routes. A wrong method gets 405 with the allowed methods, an unknown path
 * gets 404.
 */
import assert from "node:assert/strict";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import { consoleApi } from "@tollgate/api/console/api.ts";
import { nodeApi } from "@tollgate/api/nodes/api.ts";
import type { Api } from "@tollgate/api/openapi/api-declaration.ts";
import { splitMethodAndUrl } from "@tollgate/api/route-declaration.ts";
import type { FastifyInstance } from "fastify";
import { systemClock } from "../base/clock.ts";
import type { Uuid } from "../base/ids.ts";
import { stripeProvider } from "../payments/stripe.ts";
import { listOperations } from "../routes/contract/testing/operations.ts";
import { openTestPlatform, type TestPlatform } from "../routes/testing/platform.ts";
import { internalServer, listen } from "./server.ts";

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"] as const;
const ROOTS = [/^\/console\/api(\/|$)/, /^\/node\/v1(\/|$)/];

let platform: TestPlatform;
let internal: FastifyInstance;
before(async () => {
  platform = await openTestPlatform({
    // Without a payment provider, the payment routes would not be served.
    payments: stripeProvider({
      secretKey: "sk_test_methods",
      webhookSecrets: ["whsec_methods"],
      apiBase: undefined,
      invoices: false,
      clock: systemClock,
    }),
  });
  internal = internalServer({
    ready: () => ({ status: "ready", dependencies: {} }),
    metrics: async () => ({ contentType: "x", text: "" }),
  });
});
after(async () => {
  await internal.close();
  await platform.close();
});

/** The methods of a route that reads: HEAD is allowed wherever GET is. */
const READ = ["GET", "HEAD"];

/** The paths of a declared API, each with its methods. */
function declared(api: Api): [string, string[]][] {
  const routes = listOperations(api).map(splitMethodAndUrl);
  return [...Map.groupBy(routes, ({ url }) => url)].map(([url, list]) => [
    url,
    list.flatMap(({ method }) => (method === "GET" ? READ : [method])),
  ]);
}

/** All paths of the router, parsed from its printed tree, in which indentation shows depth. */
function pathsOf(app: FastifyInstance): string[] {
  const parts: string[] = [];
  const lines = app.printRoutes({ commonPrefix: false }).split("\n");
  const paths = lines.flatMap((line) => {
    const [, indent, part] = /^([│├└─ ]*)(\S+)/.exec(line) ?? [];
    if (indent === undefined || part === undefined) return [];
    parts.splice(indent.length / 4 - 1, Number.POSITIVE_INFINITY, part);
    return [parts.join("")];
  });
  return [...new Set(paths)];
}

test("every route of the console and the node API is declared, and every declared route exists", async () => {
  const { app } = platform;
  await app.ready();
  const served: [string, string[]][] = [];
  for (const url of pathsOf(app).filter((path) => ROOTS.some((root) => root.test(path)))) {
    // OPTIONS makes the router return the methods of the path.
    const { statusCode, headers } = await app.inject({ method: "OPTIONS", url });
    if (url === "/console/api" || url === "/console/api/*") assert.equal(statusCode, 404, url);
    else served.push([url, String(headers.allow).split(", ")]);
  }
  const sorted = (paths: [string, string[]][]) => paths.map(([url, methods]) => `${url} ${methods.sort()}`).sort();
  assert.ok(served.length > 50);
  assert.deepEqual(sorted(served), sorted([...declared(consoleApi), ...declared(nodeApi)]));
});

const DOORS: [string, () => FastifyInstance, [string, string[]][]][] = [
  ["the node API", () => platform.app, declared(nodeApi)],
  ["the console API", () => platform.app, declared(consoleApi)],
  ["the receipts' keys", () => platform.app, [["/.well-known/tollgate-receipts", READ]]],
  ["the reference", () => platform.app, ["/docs", "/openapi.json", "/openapi/node.json"].map((url) => [url, READ])],
  ["the internal port", () => internal, ["/healthz", "/readyz", "/metrics"].map((url) => [url, READ])],
];

describe("a 405 lists the allowed methods", () => {
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

test("an unknown path of the node API returns 404 for any method and token", async () => {
  for (const method of ["GET", "POST", "DELETE"] as const) {
    for (const url of ["/node/v1", "/node/v1/nothing", "/node/v1/nodes/x/y/z"]) {
      const answer = await platform.app.inject({ method, url });
      assert.deepEqual([answer.statusCode, answer.json().error.type], [404, "not_found_error"], url);
    }
  }
});

test("a path with percent-encoded characters is routed like the decoded path", async () => {
  for (const url of ["/v1/%6dodels", "/v1/models"]) {
    const { statusCode, headers } = await platform.app.inject({ method: "POST", url });
    assert.deepEqual([statusCode, headers.allow], [405, "GET, HEAD"], url);
  }
});

test("HEAD returns the same headers as GET", async () => {
  const { accountIds } = await platform.person([{ kind: "builder" }]);
  const { token } = await platform.parts.apiKeys.issue(accountIds[0] as Uuid, "a key");
  const keyed = { authorization: `Bearer ${token}` };
  const asked: [FastifyInstance, string, Record<string, string>?][] = [
    ...["/healthz", "/readyz", "/metrics"].map((url): [FastifyInstance, string] => [internal, url]),
    ...["/", "/health", "/docs", "/openapi.json", "/status", "/status.json", "/console/"].map(
      (url): [FastifyInstance, string] => [platform.app, url],
    ),
    [platform.app, "/.well-known/tollgate-receipts"],
    [platform.app, "/v1/catalog/rates"],
    [platform.app, "/v1/catalog/rates", { "if-none-match": "*" }],
    [platform.app, "/v1/models"],
    [platform.app, "/v1/models", keyed],
    [platform.app, "/v1/models/tiny-3b", keyed],
    [platform.app, "/v1/models/none", keyed],
    [platform.app, "/v1/nothing"],
  ];
  const own = /^(x-request-id|date|x-ratelimit-(remaining|reset)-.*)$/;
  // The responses of these paths change with every call.
  const ofTheMoment = ["/metrics", "/status", "/status.json"];
  const isOwn = (name: string, url: string): boolean =>
    own.test(name) || (ofTheMoment.includes(url) && /^(content-length|etag)$/.test(name));
  for (const [app, url, headers = {}] of asked) {
    const [get, head] = [
      await app.inject({ method: "GET", url, headers }),
      await app.inject({ method: "HEAD", url, headers }),
    ];
    const shared = (answer: typeof get) => Object.entries(answer.headers).filter(([name]) => !isOwn(name, url));
    assert.equal(head.statusCode, get.statusCode, url);
    assert.deepEqual(shared(head).sort(), shared(get).sort(), url);
    const left = (answer: typeof get) => Number(answer.headers["x-ratelimit-remaining-requests"] ?? 0);
    assert.equal(left(get) - left(head), "authorization" in headers ? 1 : 0, `${url}: counts as a request`);
  }
});

test("HEAD returns no body", async () => {
  const app = platform.serve({});
  const port = await listen(app, { host: "127.0.0.1", port: 0 }, { host: "HOST", port: "PORT" });
  for (const url of ["/", "/v1/catalog/rates", "/v1/models", "/console/api/live", "/console/api/requests.csv"]) {
    const socket = connect(port, "127.0.0.1");
    socket.end(`HEAD ${url} HTTP/1.1\r\nhost: a.test\r\nconnection: close\r\n\r\n`);
    const answer = await text(socket);
    assert.match(answer, /^HTTP\/1\.1 (200|401) .*\r\ncontent-length: [1-9]/is, url);
    assert.equal(answer.indexOf("\r\n\r\n"), answer.length - 4, url);
  }
});

test("GET /health succeeds while the process runs, and other methods return 405", async () => {
  const answer = await platform.app.inject({ method: "GET", url: "/health" });
  assert.deepEqual([answer.statusCode, answer.json()], [200, { status: "ok" }]);
  assert.equal((await platform.app.inject({ method: "POST", url: "/health" })).statusCode, 405);
});

test("a 401 has a WWW-Authenticate header", async () => {
  for (const url of ["/v1/models", "/node/v1/nodes", "/console/api/me"]) {
    const { statusCode, headers } = await platform.app.inject({ method: "GET", url });
    assert.deepEqual([statusCode, headers["www-authenticate"]], [401, "Bearer"], url);
  }
});

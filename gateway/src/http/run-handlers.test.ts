/** The error responses to requests whose handler fails. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { describe, test } from "node:test";
import { UnreachableError } from "../base/dependency.ts";
import { createLog } from "../base/log.ts";
import { watchOpenFiles } from "../base/open-file-limit.ts";
import { manualClock } from "../base/testing.ts";
import { makeTestHttpOptions } from "../routes/testing/http-options.ts";
import { createServerWithoutRoutes } from "./server.ts";

const coded = (code: string): Error => Object.assign(new Error("secret words"), { code });

function serve(error: unknown) {
  const lines: { level: number; msg: string; unsaid?: number; err?: unknown }[] = [];
  const log = createLog("info", { write: (line: string) => void lines.push(JSON.parse(line)) });
  const app = createServerWithoutRoutes(makeTestHttpOptions({ log }));
  for (const path of ["/v1/thing", "/console/api/thing"]) {
    app.get(path, async () => {
      throw error;
    });
  }
  const ask = async (url: string) => {
    const { statusCode, headers, body } = await app.inject(url);
    return { status: statusCode, headers, text: body, error: JSON.parse(body).error as Record<string, string> };
  };
  return { ask, lines };
}

describe("errors that a route handler throws", () => {
  for (const [what, error, linesDue] of [
    ["the database is known to be unreachable", new UnreachableError("database", "secret words"), 0],
    ["the limits server is unreachable", new UnreachableError("limits", "secret words"), 0],
    [
      "a cached lookup failed for that reason",
      new Error("a lookup failed", { cause: new UnreachableError("database", "secret words") }),
      0,
    ],
    ["the database cannot be reached", coded("ECONNREFUSED"), 1],
    ["the database's disk is full", coded("53100"), 1],
    ["a lock was held too long", coded("55P03"), 1],
    ["a table is missing, as during a restore", coded("42P01"), 1],
  ] as const) {
    test(`${what}: returns a retryable 503 without the cause, and logs repeated errors at most once`, async () => {
      const { ask, lines } = serve(error);
      for (let i = 0; i < 20; i++) {
        const { status, headers, text, error: told } = await ask("/v1/thing");
        assert.deepEqual([status, told.code], [503, "no_capacity"]);
        assert.deepEqual([headers["retry-after"], headers["x-should-retry"]], ["1", "true"]);
        assert.match(String(told.message), /Nothing was billed; it is safe to retry/);
        assert.doesNotMatch(text, /secret words/);
      }
      assert.equal(lines.length, linesDue);
      assert.ok(lines.every(({ level, err }) => level === 40 && err === undefined));
    });
  }

  test("do not mention billing on routes that never bill", async () => {
    const { ask } = serve(new UnreachableError("database", "x"));
    const { status, error } = await ask("/console/api/thing");
    assert.equal(status, 503);
    assert.doesNotMatch(String(error.message), /billed/);
  });

  test("are sent as 503 with Connection: close for every route when file descriptors run out", async (t) => {
    const clock = manualClock();
    const files = { count: () => 4, max: 64 };
    const watch = watchOpenFiles({ files, clock, log: createLog("silent") });
    const app = createServerWithoutRoutes(makeTestHttpOptions({ files: watch }));
    t.after(() => app.close());
    app.get("/v1/thing", () => ({ served: true }));
    app.post("/v1/thing", () => ({ served: true }));
    app.direct.set("/v1/direct", (call) => call.reply.json(200, "{}"));
    await app.listen({ host: "127.0.0.1", port: 0 });
    const { port } = app.server.address() as AddressInfo;
    const ask = async (method: string, path: string) => {
      const agent = new Agent({ keepAlive: true });
      const [response] = (await once(request({ port, method, path, agent }).end(), "response")) as [IncomingMessage];
      await response.toArray();
      agent.destroy();
      const { statusCode, headers } = response;
      return [statusCode, headers["retry-after"], headers.connection];
    };
    for (const [method, path] of [
      ["GET", "/v1/thing"],
      ["POST", "/v1/direct"],
    ] as const) {
      files.count = () => 4;
      clock.advance(1_000);
      assert.deepEqual(await ask(method, path), [200, undefined, "keep-alive"]);
      files.count = () => 57;
      clock.advance(1_000);
      assert.deepEqual(await ask(method, path), [503, "1", "close"]);
    }
  });

  test("a new connection gets 503 and is closed before its request when almost no file descriptors are left", async (t) => {
    const watch = watchOpenFiles({
      files: { count: () => 63, max: 64 },
      clock: manualClock(),
      log: createLog("silent"),
    });
    const statuses: number[] = [];
    const answered = ({ status }: { status: number }): void => void statuses.push(status);
    const app = createServerWithoutRoutes(makeTestHttpOptions({ files: watch, watch: { answered, refused() {} } }));
    t.after(() => app.close());
    await app.listen({ host: "127.0.0.1", port: 0 });
    const socket = connect((app.server.address() as AddressInfo).port, "127.0.0.1");
    const text = (await socket.setEncoding("utf8").toArray()).join("");
    assert.match(text, /^HTTP\/1\.1 503 Service Unavailable\r\nx-request-id: req_/);
    assert.match(text, /\r\nretry-after: 1\r\n/);
    const [, body = ""] = text.split("\r\n\r\n");
    assert.equal(JSON.parse(body).error.code, "no_capacity");
    assert.match(text, new RegExp(`\r\ncontent-length: ${Buffer.byteLength(body)}\r\n`));
    assert.deepEqual(statuses, [503]);
  });

  for (const error of [coded("23505"), coded("42601"), new TypeError("secret words")]) {
    test(`return 500 for a bug: ${error.name} ${"code" in error ? error.code : ""}`, async () => {
      const { ask, lines } = serve(error);
      const { status, headers, text } = await ask("/v1/thing");
      assert.deepEqual([status, headers["x-should-retry"]], [500, "false"]);
      assert.doesNotMatch(text, /secret words/);
      assert.equal(lines[0]?.msg, "request failed with an internal error");
    });
  }
});

/** What a request is told of what went wrong behind the door. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Away } from "../base/dependency.ts";
import { createLog } from "../base/log.ts";
import { testDoor } from "../routes/testing/door.ts";
import { bareServer } from "./server.ts";

const coded = (code: string, message = "secret words"): Error => Object.assign(new Error(message), { code });

function serve(error: unknown) {
  const lines: { level: number; msg: string; unsaid?: number; err?: unknown }[] = [];
  const log = createLog("info", { write: (line: string) => void lines.push(JSON.parse(line)) });
  const app = bareServer(testDoor({ log }));
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

describe("behind the door", () => {
  for (const [what, error, linesDue] of [
    ["the store is known to be away", new Away("database", "secret words"), 0],
    ["the limits are", new Away("limits", "secret words"), 0],
    ["a lookup failed because it is", new Error("a lookup failed", { cause: new Away("database", "secret words") }), 0],
    ["the store cannot be reached", coded("ECONNREFUSED"), 1],
    ["its disk is full", coded("53100"), 1],
    ["it was too long locked", coded("55P03"), 1],
  ] as const) {
    test(`${what}: 503, to be tried again; the cause is not told, and in a flood it is logged once`, async () => {
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

  test("where nothing is ever billed nothing is said of it", async () => {
    const { ask } = serve(new Away("database", "x"));
    const { status, error } = await ask("/console/api/thing");
    assert.equal(status, 503);
    assert.doesNotMatch(String(error.message), /billed/);
  });

  for (const error of [coded("23505"), coded("42P01"), new TypeError("secret words")]) {
    test(`a bug stays one: ${error.name} ${"code" in error ? error.code : ""}`, async () => {
      const { ask, lines } = serve(error);
      const { status, headers, text } = await ask("/v1/thing");
      assert.deepEqual([status, headers["x-should-retry"]], [500, "false"]);
      assert.doesNotMatch(text, /secret words/);
      assert.equal(lines[0]?.msg, "request failed with an internal error");
    });
  }
});

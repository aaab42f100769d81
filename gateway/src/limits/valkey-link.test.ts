/** An answer's time is the server's: what this process lost of it by being busy is not held against anybody. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { systemClock } from "../base/clock.ts";
import { createLog } from "../base/log.ts";
import { manualClock } from "../base/testing.ts";
import { LimitsUnavailable } from "./limits.ts";
import { findServer, startServer, type TestServer } from "./testing.ts";
import { ValkeyLink } from "./valkey-link.ts";
import type { ScriptedRedis } from "./valkey-scripts.ts";

const binary = findServer();
const skip = binary === undefined && "neither valkey-server nor redis-server is installed";
const ANSWER_TIMEOUT_MS = 200;
const probe = (redis: ScriptedRedis): Promise<unknown> => redis.ping();

describe("an answer's time", { skip }, () => {
  let server: TestServer;
  before(async () => {
    server = await startServer(binary as string);
  });
  after(() => server.kill());

  const open = async (t: { after(run: () => Promise<void>): void }, clock = manualClock()) => {
    const log = createLog("silent");
    const link = new ValkeyLink({ url: server.url, clock, log, answerTimeoutMs: ANSWER_TIMEOUT_MS, probe });
    t.after(async () => {
      server.thaw();
      await link.close();
    });
    await link.open();
    return { link, clock };
  };

  test("is not over while this process was too busy to read", async (t) => {
    const log = createLog("silent");
    const link = new ValkeyLink({ url: server.url, clock: systemClock, log, answerTimeoutMs: 500, probe });
    t.after(() => link.close());
    await link.open();
    const asked = link.ask((redis) => redis.ping());
    const until = performance.now() + 700;
    while (performance.now() < until);
    assert.equal(await asked, "PONG");
    assert.equal(link.isAway, false);
  });

  test("is given back when the timer itself was late, once", async (t) => {
    const { link, clock } = await open(t);
    server.freeze();
    const answered = link.ask((redis) => redis.ping());
    // This process stands still for longer than the answer had.
    clock.freeze(ANSWER_TIMEOUT_MS + 150);
    await turn();
    server.thaw();
    assert.equal(await answered, "PONG");

    server.freeze();
    const unanswered = assert.rejects(
      link.ask((redis) => redis.ping()),
      LimitsUnavailable,
    );
    clock.freeze(ANSWER_TIMEOUT_MS + 150);
    await turn();
    clock.freeze(ANSWER_TIMEOUT_MS + 150);
    await unanswered;
  });
});

/** What is at hand is done: sockets are read, and what was put off until then has run. */
async function turn(): Promise<void> {
  for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve));
}

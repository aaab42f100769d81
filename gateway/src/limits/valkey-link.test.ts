/** The timeout of a reply does not count time in which this process was busy. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Redis } from "ioredis";
import { createLog } from "../base/log.ts";
import { manualClock, waitOneTurn } from "../base/testing.ts";
import { LimitsUnavailable } from "./limits.ts";
import { findValkeyServer, sendValkeyCommand, startValkeyServer, type TestValkeyServer } from "./testing-limits.ts";
import { type ConnectValkey, ValkeyLink } from "./valkey-link.ts";
import type { RedisWithScripts } from "./valkey-scripts.ts";

const binary = findValkeyServer();
const skip = binary === undefined && "neither valkey-server nor redis-server is installed";
const ANSWER_TIMEOUT_MS = 200;
const probe = (redis: RedisWithScripts): Promise<unknown> => redis.ping();

describe("the timeout of a reply from the limits server", { skip }, () => {
  let server: TestValkeyServer;
  before(async () => {
    server = await startValkeyServer(binary as string);
  });
  after(() => server.kill());

  const open = async (t: { after(run: () => Promise<void>): void }) => {
    const [clock, log] = [manualClock(), createLog("silent")];
    let redis: RedisWithScripts | undefined;
    const connect: ConnectValkey = (url, options) => {
      redis = new Redis(url, options) as RedisWithScripts;
      return redis;
    };
    const link = new ValkeyLink({ url: server.url, connect, clock, log, answerTimeoutMs: ANSWER_TIMEOUT_MS, probe });
    t.after(async () => {
      server.thaw();
      await link.close();
    });
    await link.open();
    return { link, clock, redis: redis as unknown as RedisWithScripts };
  };

  test("does not expire while the reply waits unread in the socket", async (t) => {
    const { link, clock, redis } = await open(t);
    redis.stream.pause();
    const asked = link.ask((client) => client.ping());
    // The server answers in order. So when it has answered this second PING, its answer to the first one waits unread
    // in the link's socket.
    await sendValkeyCommand(server.url, "PING");
    await waitOneTurn();
    redis.stream.resume();
    clock.advance(ANSWER_TIMEOUT_MS);
    assert.equal(await asked, "PONG");
    assert.equal(link.isAway, false);
  });

  test("is extended once when the timer itself fires late", async (t) => {
    const { link, clock } = await open(t);
    server.freeze();
    const answered = link.ask((redis) => redis.ping());
    // Blocks this process for longer than the timeout.
    clock.freeze(ANSWER_TIMEOUT_MS + 150);
    await waitOneTurn();
    server.thaw();
    assert.equal(await answered, "PONG");

    server.freeze();
    const unanswered = assert.rejects(
      link.ask((redis) => redis.ping()),
      LimitsUnavailable,
    );
    clock.freeze(ANSWER_TIMEOUT_MS + 150);
    await waitOneTurn();
    clock.freeze(ANSWER_TIMEOUT_MS + 150);
    await unanswered;
  });
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { Redis } from "ioredis";
import { findValkeyServer } from "../../gateway/src/limits/testing-limits.ts";
import { startValkey } from "./valkey.ts";

const skip = findValkeyServer() === undefined && "neither valkey-server nor redis-server is installed";

test("a test can kill, freeze and fill a Valkey server, which is empty after a restart", { skip }, async (t) => {
  const valkey = await startValkey();
  t.after(() => valkey.close());
  const connect = (more: object): Redis => {
    const client = new Redis(valkey.url, { maxRetriesPerRequest: 0, retryStrategy: () => 20, ...more });
    client.on("error", () => {});
    t.after(() => client.disconnect());
    return client;
  };
  const [redis, impatient] = [connect({}), connect({ commandTimeout: 500 })];
  await redis.set("a", "1");
  valkey.stop();
  await assert.rejects(impatient.get("a"), /timed out/);
  valkey.cont();
  assert.equal(await redis.get("a"), "1");
  await valkey.fill();
  await assert.rejects(redis.set("b", "2"), /OOM/);
  await valkey.free();
  await redis.set("b", "2");
  await valkey.kill();
  await assert.rejects(redis.get("a"));
  assert.equal(valkey.running(), false);
  await valkey.start();
  const again = new Redis(valkey.url);
  t.after(() => again.disconnect());
  assert.equal(await again.get("a"), null);
  await again.set("a", "1");
  await valkey.restart();
  assert.equal(await again.get("a"), null);
});

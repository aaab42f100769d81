import assert from "node:assert/strict";
import { test } from "node:test";
import { manualClock } from "../base/testing.ts";
import { LimitCounts, openMemoryLimits } from "./in-memory-limits.ts";
import { DEFAULT_KEY_LIMITS } from "./limits.ts";

test("limits in memory drop the counts of idle keys, and keep those of keys with requests in flight", async () => {
  const clock = manualClock();
  const board = new LimitCounts();
  const limits = openMemoryLimits({ clock, board });
  for (let i = 0; i < 1_000; i++) {
    await limits.enter(`key-${i}`, "r", DEFAULT_KEY_LIMITS);
    await limits.enterModel(`model-${i}`, "r", 1);
    if (i === 0) continue;
    await limits.leave(`key-${i}`, "r", 10);
    await limits.leaveModel(`model-${i}`, "r");
  }
  assert.equal(board.size, 2_000, "every key and model");
  clock.advance(60_000);
  assert.equal(board.size, 2, "the key and the model with a request in flight");
  await limits.leave("key-0", "r", 0);
  await limits.leaveModel("model-0", "r");
  clock.advance(60_000);
  assert.equal(board.size, 0);
  await limits.close();
});

test("limits in memory drop the leases of a gateway that died", async () => {
  const clock = manualClock();
  const board = new LimitCounts();
  const dead = openMemoryLimits({ clock, board });
  const living = openMemoryLimits({ clock, board });
  for (let i = 0; i < 100; i++) await dead.enterModel(`model-${i}`, "r", 1);
  await dead.close();
  clock.advance(59_999);
  assert.equal(board.size, 100);
  clock.advance(1);
  assert.equal(board.size, 0);
  await living.close();
});

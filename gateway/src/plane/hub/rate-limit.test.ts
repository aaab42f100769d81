import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createRateLimit } from "./rate-limit.ts";

const limits = { operationsPerSecondMax: 1000, inboundBytesPerSecondMax: 1_000_000, burstMs: 100 };

describe("the rate limit of a node", () => {
  test("allows a burst, and pauses a flood in proportion to its size", () => {
    const rate = createRateLimit(limits);
    assert.equal(rate.spend(100, 0, 5000), 0);
    assert.equal(rate.spend(50, 0, 5000), 50);
    assert.equal(rate.spend(0, 0, 5050), 0);
    assert.equal(rate.spend(1000, 0, 6000), 900);
  });

  test("counts both bytes and operations", () => {
    assert.equal(createRateLimit(limits).spend(1, 200_000, 5000), 101);
  });

  test("never pauses a sender that stays within the rate", () => {
    const rate = createRateLimit(limits);
    for (let ms = 0; ms < 10_000; ms += 10) assert.equal(rate.spend(5, 5000, ms), 0);
  });
});

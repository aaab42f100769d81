import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { systemClock } from "../base/clock.ts";
import { newIds } from "../base/ids.ts";
import { pico } from "../base/money.ts";
import { systemRandom } from "../base/random.ts";
import { openTestDatabase, type TestDatabase } from "../db/testing.ts";
import type { RequestRecord } from "./history.ts";
import { openReceipts, verifyReceipt } from "./receipts.ts";

const newId = newIds(systemClock, systemRandom());
const record = (): RequestRecord => ({
  id: newId(),
  accountId: newId(),
  keyId: newId(),
  keyName: "k",
  endpoint: "chat",
  model: "tiny-3b",
  build: "tiny-3b-q4-1",
  tokenizer: "llama3:abc",
  stream: true,
  outcome: "ok",
  httpStatus: 200,
  finishReason: "stop",
  promptTokens: 12,
  completionTokens: 30,
  reasoningTokens: 0,
  priceVersion: 1,
  hold: pico(10_000_000_000_000_000_000n),
  charge: pico(1_440_000n),
  hostShare: pico(1_008_000n),
  nodeId: newId(),
  attempts: 1,
  queueMs: 1,
  ttftMs: 2,
  durationMs: 3,
  count: 1,
  client: "curl",
  label: null,
  createdAt: new Date("2026-11-15T10:00:00Z"),
  finishedAt: new Date("2026-11-15T10:00:01Z"),
});

describe("usage receipts", () => {
  let db: TestDatabase;
  before(async () => {
    db = await openTestDatabase();
  });
  after(() => db.close());

  test("verify offline with the published keys, also after a walk through JSON", async () => {
    const receipts = await openReceipts({ pool: db.pool, seed: randomBytes(32) });
    const receipt = receipts.of(record());
    const keys = await receipts.keys();
    assert.deepEqual(verifyReceipt(receipt, keys), { valid: true });
    const reordered = Object.fromEntries(Object.entries(JSON.parse(JSON.stringify(receipt))).reverse());
    assert.deepEqual(verifyReceipt(reordered, keys), { valid: true });
    assert.equal(receipt.hold_pico, "10000000000000000000");
    for (const secret of ["nodeId", "keyName", "accountId", "node_id"]) assert.ok(!(secret in receipt));
  });

  test("any change of any field is noticed", async () => {
    const receipts = await openReceipts({ pool: db.pool, seed: randomBytes(32) });
    const receipt = receipts.of(record());
    const keys = await receipts.keys();
    for (const field of Object.keys(receipt)) {
      const changed = { ...receipt, [field]: "other" };
      assert.equal(verifyReceipt(changed, keys).valid, false, field);
    }
    assert.equal(verifyReceipt({ ...receipt, extra: 1 }, keys).valid, false);
    for (const nothing of [null, 7, [], {}, "x"]) assert.equal(verifyReceipt(nothing, keys).valid, false);
  });

  test("a new key leaves old receipts verifiable; a foreign key is none of ours", async () => {
    const before = (await openReceipts({ pool: db.pool, seed: randomBytes(32) })).of(record());
    const rotated = await openReceipts({ pool: db.pool, seed: randomBytes(32) });
    const keys = await rotated.keys();
    assert.notEqual(rotated.of(record()).key_id, before.key_id);
    assert.deepEqual(verifyReceipt(before, keys), { valid: true });
    const foreign = keys.filter(({ id }) => id !== before.key_id);
    assert.match(JSON.stringify(verifyReceipt(before, foreign)), /not among the published/);
  });
});

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { systemClock } from "../base/clock.ts";
import { creationTimeMsOf, newIds, publicId } from "../base/ids.ts";
import { dollars, pico } from "../base/money.ts";
import { systemRandom } from "../base/random.ts";
import { timeoutFreeClock } from "../base/testing.ts";
import { openTestDatabase, type TestDatabase } from "../db/testing.ts";
import { openLedger } from "../ledger/ledger.ts";
import { createTestHold, createTestSettlement, TEST_CHARGE } from "../ledger/testing.ts";
import { openReceipts, verifyReceipt } from "./receipts.ts";
import { openRequestHistory, type RequestRecord } from "./request-history.ts";

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

  test("can be verified offline with the published keys, even after conversion to JSON and back", async () => {
    const receipts = await openReceipts({ pool: db.pool, seed: randomBytes(32) });
    const receipt = receipts.of(record());
    const keys = await receipts.keys();
    assert.deepEqual(verifyReceipt(receipt, keys), { valid: true });
    const reordered = Object.fromEntries(Object.entries(JSON.parse(JSON.stringify(receipt))).reverse());
    assert.deepEqual(verifyReceipt(reordered, keys), { valid: true });
    assert.equal(receipt.hold_pico, "10000000000000000000");
    for (const secret of ["nodeId", "keyName", "accountId", "node_id"]) assert.ok(!(secret in receipt));
  });

  test("contain the values of the request's record, with its start and end", async () => {
    const ledger = openLedger({ pool: db.pool, clock: timeoutFreeClock, gatewayId: "test" });
    const account = newId();
    await db.pool.query("insert into ledger_account (id, kind) values ($1, 'builder')", [account]);
    await ledger.transfer({ id: newId(), kind: "grant", accountId: account, amount: dollars(1), reason: "test" });
    const hold = createTestHold(account);
    await ledger.hold(hold);
    const moment = async (): Promise<Date> => (await db.pool.query("select clock_timestamp() as at")).rows[0].at;
    const before = await moment();
    await ledger.settle(createTestSettlement(hold, null));
    const after = await moment();
    const found = await openRequestHistory({ pool: db.pool }).find(account, hold.id);
    assert.ok(found !== undefined);
    assert.ok(found.finishedAt >= before && found.finishedAt <= after, "it ends when it is settled");
    assert.equal(found.createdAt.getTime(), creationTimeMsOf(hold.id));
    const receipts = await openReceipts({ pool: db.pool, seed: randomBytes(32) });
    const { key_id, signature, ...facts } = receipts.of({ ...found, hostShare: pico(7n), reasoningTokens: 2 });
    assert.deepEqual(facts, {
      object: "usage.receipt",
      version: 1,
      request_id: publicId("req", hold.id),
      endpoint: "chat",
      model: "tiny-3b",
      build: "tiny-3b-q4-1",
      tokenizer: "llama3",
      outcome: "ok",
      finish_reason: "stop",
      prompt_tokens: 3,
      completion_tokens: 5,
      reasoning_tokens: 2,
      price_version: 1,
      hold_pico: "1000000",
      charge_pico: TEST_CHARGE.toString(),
      host_share_pico: "7",
      created_at: new Date(creationTimeMsOf(hold.id)).toISOString(),
      finished_at: found.finishedAt.toISOString(),
    });
    assert.notEqual(facts.created_at, facts.finished_at);
  });

  test("fail verification if any field is changed", async () => {
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

  test("can be verified with an old key after a new one is configured, and not with another platform's key", async () => {
    const before = (await openReceipts({ pool: db.pool, seed: randomBytes(32) })).of(record());
    const rotated = await openReceipts({ pool: db.pool, seed: randomBytes(32) });
    const keys = await rotated.keys();
    assert.notEqual(rotated.of(record()).key_id, before.key_id);
    assert.deepEqual(verifyReceipt(before, keys), { valid: true });
    const foreign = keys.filter(({ id }) => id !== before.key_id);
    assert.match(JSON.stringify(verifyReceipt(before, foreign)), /not among the platform's published/);
  });
});

/** Tests that an account can never spend more than it has, and a key never more than its budget. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { HIGH_KEY_LIMITS, makeKey } from "@tollgate/stage/builder-and-host-accounts.ts";
import { makeScriptPrompt, sendUserMessage } from "@tollgate/stage/builder-requests.ts";
import { assertBalanced } from "@tollgate/stage/ledger-check.ts";
import { type InProcessStage, openStage } from "@tollgate/stage/stage.ts";
import { runWithinOneMinuteOrDay } from "@tollgate/stage/within-one-minute-or-day.ts";
import type { TestDatabase } from "../gateway/src/db/testing.ts";
import { checkLedger } from "../gateway/src/ledger/check.ts";
import { MODEL_SHARING_WINDOW_MS } from "../gateway/src/limits/limits.ts";

const MODEL = "tiny-3b";
/**
 * The answer uses its whole cap, so that the charge equals the hold. It begins after half a second, so that requests
 * overlap.
 */
const REQUEST = { model: MODEL, prompt: makeScriptPrompt({ tokens: 40, overrun: true, ttft_ms: 500 }), max_tokens: 20 };
const AT_ONCE = 200;

interface Refusal {
  code: string;
  message: string;
  required_micro: number;
  available_micro: number;
}

describe("overspending by concurrent requests", () => {
  let stage: InProcessStage;
  /** The price of one request in picodollars. */
  let price: bigint;
  before(async () => {
    const node = { models: [MODEL] };
    stage = await openStage({ as: "in-process", clock: "running", nodes: [node, node] });
    const { key } = await stage.builder();
    const record = await stage.record(await sendUserMessage(stage, key, REQUEST));
    assert.equal(record?.outcome, "ok");
    assert.equal(record?.charge_pico, record?.hold_pico);
    price = BigInt(record?.hold_pico ?? 0);
  });
  after(() => stage?.close());

  /** Sends 200 requests at once and returns the errors of those that were refused. */
  const manyAtOnce = async (key: string): Promise<Refusal[]> => {
    // Advances the clock until no other account counts as a recent user of the model: then this account gets all slots.
    stage.clock.advance(MODEL_SHARING_WINDOW_MS + 1);
    const answers = await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        const response = await sendUserMessage(stage, key, REQUEST);
        const { error } = (await response.json()) as { error?: Refusal };
        assert.equal(response.status, error === undefined ? 200 : 402, JSON.stringify(error));
        return error;
      }),
    );
    return answers.filter((error) => error !== undefined);
  };
  const assertProven = async (): Promise<void> => {
    await assertBalanced(stage);
    for (const { name, differences } of await checkLedger((stage.shared.database as TestDatabase).pool))
      assert.deepEqual(differences, [], name);
  };

  test("a key with a budget for 37 of 200 concurrent requests gets exactly 37 answers, and the errors name the budget", async () => {
    const { account } = await stage.builder();
    const observe = async () => {
      const { id, token } = await makeKey(stage.query, account, {
        ...HIGH_KEY_LIMITS,
        budgetDay: price * 37n + price / 2n,
      });
      const before = await stage.balance(account);
      const refused = await manyAtOnce(token);
      await stage.noHolds();
      return { id, before, refused, after: await stage.balance(account) };
    };
    // The database's clock begins a budget's day, and the stage's clock dates requests.
    const clocks = [Date.now, stage.clock.now];
    const { id, before, refused, after } = await runWithinOneMinuteOrDay("day", observe, clocks);
    assert.equal(refused.length, AT_ONCE - 37);
    for (const { code, message, required_micro, available_micro } of refused) {
      assert.equal(code, "hold_exceeds_balance");
      assert.match(message, /^The daily budget of the API key "made" does not cover this request/);
      assert.ok(available_micro < required_micro, message);
    }
    assert.equal(before - after, price * 37n);
    const standing = await stage.query("select day_spent, day_held from key_budget where key_id = $1", [id]);
    assert.deepEqual(standing, [{ day_spent: String(price * 37n), day_held: "0" }]);
    await assertProven();
  });

  test("an account with credit for 37 of 200 concurrent requests gets exactly 37 answers, and its balance is exact", async () => {
    const { account, key } = await stage.builder(price * 37n + price / 2n);
    const refused = await manyAtOnce(key);
    assert.deepEqual([...new Set(refused.map(({ code }) => code))], ["hold_exceeds_balance"]);
    assert.equal(refused.length, AT_ONCE - 37);
    await stage.noHolds();
    assert.equal(await stage.balance(account), price / 2n);
    const records = await stage.query("select id from request where account_id = $1", [account]);
    assert.equal(records.length, 37, "a 402 leaves no record");
    await assertProven();
  });
});

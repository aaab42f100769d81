/** The request limit of a model, and the separate error during an outage of the dispatch plane. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { manualClock } from "../base/testing.ts";
import { openMemoryLimits } from "../limits/in-memory-limits.ts";
import type { ActiveModel } from "../metering/catalogue.ts";
import { type Caller, countAgainstModelLimit } from "./check-limits.ts";
import type { RequestPathDependencies } from "./request-path-dependencies.ts";

const MODEL = { id: "tiny-3b", admissionMax: 1 } as unknown as ActiveModel;

function open() {
  const state = { isAway: false, isTroubled: false };
  const recorded: string[] = [];
  const gateway = {
    limits: openMemoryLimits({ clock: manualClock() }),
    dispatcher: { slots: () => 0, ...state },
    watch: { refused: () => {} },
    refusals: { record: async ({ outcome }: { outcome: string }) => void recorded.push(outcome) },
  };
  let calls = 0;
  const enter = () => {
    const caller = { call: { id: `call-${calls++}`, client: "" }, key: { id: "k", name: "k", accountId: "a" } };
    return countAgainstModelLimit(
      gateway as unknown as RequestPathDependencies,
      caller as unknown as Caller,
      MODEL,
      false,
    );
  };
  return { dispatcher: gateway.dispatcher, recorded, enter };
}

test("a request above the model's request limit is refused with 429, and the refusal is recorded", async () => {
  const { enter, recorded } = open();
  const place = await enter();
  await assert.rejects(enter(), { code: "rate_limit_sku_capacity", status: 429 });
  assert.deepEqual(recorded, ["rate_limit_sku_capacity"]);
  await place.leave(0);
  await enter();
});

test("a request is refused with 503 while no node is reachable, even below the model's request limit", async () => {
  const { enter, recorded, dispatcher } = open();
  dispatcher.isAway = true;
  await assert.rejects(enter(), { code: "no_capacity", status: 503 });
  assert.deepEqual(recorded, []);
});

test("after an outage of the plane, requests above the model's request limit are refused with 503 instead of 429", async () => {
  const { enter, recorded, dispatcher } = open();
  dispatcher.isTroubled = true;
  await enter();
  await assert.rejects(enter(), { code: "no_capacity", status: 503 });
  assert.deepEqual(recorded, []);
});

/** A model's request limit, and an outage, which has its own error. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { manualClock } from "../base/testing.ts";
import { memoryLimits } from "../limits/memory.ts";
import type { ActiveModel } from "../metering/catalogue.ts";
import { type Caller, enterModel } from "./gate.ts";
import type { Gateway } from "./gateway.ts";

const MODEL = { id: "tiny-3b", admissionMax: 1 } as unknown as ActiveModel;

function open() {
  const state = { isAway: false, isTroubled: false };
  const recorded: string[] = [];
  const gateway = {
    limits: memoryLimits({ clock: manualClock() }),
    dispatcher: { slots: () => 0, ...state },
    watch: { refused: () => {} },
    refusals: { record: async ({ outcome }: { outcome: string }) => void recorded.push(outcome) },
  };
  let calls = 0;
  const enter = () => {
    const caller = { call: { id: `call-${calls++}`, client: "" }, key: { id: "k", name: "k", accountId: "a" } };
    return enterModel(gateway as unknown as Gateway, caller as unknown as Caller, MODEL, false);
  };
  return { dispatcher: gateway.dispatcher, recorded, enter };
}

test("returns and records 429 when the model is full", async () => {
  const { enter, recorded } = open();
  const place = await enter();
  await assert.rejects(enter(), { code: "rate_limit_sku_capacity", status: 429 });
  assert.deepEqual(recorded, ["rate_limit_sku_capacity"]);
  await place.leave(0);
  await enter();
});

test("returns 503 while no node is reachable, whether or not the model is full", async () => {
  const { enter, recorded, dispatcher } = open();
  dispatcher.isAway = true;
  await assert.rejects(enter(), { code: "no_capacity", status: 503 });
  assert.deepEqual(recorded, []);
});

test("returns 503 to requests that accumulated during an outage of the plane, and serves those that still fit", async () => {
  const { enter, recorded, dispatcher } = open();
  dispatcher.isTroubled = true;
  await enter();
  await assert.rejects(enter(), { code: "no_capacity", status: 503 });
  assert.deepEqual(recorded, []);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { watchReachability } from "./gateway-reachability.ts";

/** A gateway that can be switched on and off, and a clock that the test moves. */
function world() {
  let now = 0;
  let up = true;
  let asked = 0;
  let due: { at: number; call: () => void } | undefined;
  const reach = watchReachability({
    probe: async () => {
      asked++;
      return up;
    },
    nowMs: () => now,
    later: (ms, call) => {
      const mine = { at: now + ms, call };
      due = mine;
      return () => {
        if (due === mine) due = undefined;
      };
    },
    random: () => 1,
  });
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  return {
    reach,
    set: (answers: boolean) => {
      up = answers;
    },
    asked: () => asked,
    waits: () => due && due.at - now,
    settle,
    async pass(ms: number) {
      now += ms;
      while (due !== undefined && due.at <= now) {
        const { call } = due;
        due = undefined;
        call();
        await settle();
      }
    },
  };
}

test("does not count one lost request as an outage", async () => {
  const { reach, settle, asked } = world();
  reach.missed();
  await settle();
  assert.equal(asked(), 1);
  assert.equal(reach.current(), undefined);
});

test("starts an outage at the first unanswered request, and dates the shown data by the last response", async () => {
  const { reach, settle, pass, set } = world();
  reach.answered();
  await pass(500);
  set(false);
  reach.missed();
  await pass(0);
  reach.missed();
  await settle();
  assert.deepEqual(reach.current(), { since: 500, dataAt: 0 });
});

test("retries with growing intervals of at most 30 seconds, and at once on request", async () => {
  const { reach, settle, pass, set, waits, asked } = world();
  set(false);
  reach.missed();
  await settle();
  const pauses: (number | undefined)[] = [];
  for (let i = 0; i < 7; i++) {
    pauses.push(waits());
    await pass(waits() ?? 0);
  }
  assert.deepEqual(pauses, [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
  const before = asked();
  await reach.tryNow();
  assert.equal(asked(), before + 1);
  assert.deepEqual(reach.current(), { since: 0, dataAt: undefined });
});

test("ends an outage with any response, and notifies listeners", async () => {
  const { reach, settle, pass, set, waits } = world();
  let told = 0;
  const end = reach.subscribe(() => told++);
  set(false);
  reach.missed();
  await settle();
  assert.equal(told, 1);
  set(true);
  await pass(1000);
  assert.equal(reach.current(), undefined);
  assert.equal(waits(), undefined);
  assert.equal(told, 2);
  end();
  set(false);
  reach.missed();
  await settle();
  assert.equal(told, 2);
});

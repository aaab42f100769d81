import assert from "node:assert/strict";
import { test } from "node:test";
import { AccountLoads, REPORTED_LOADS_MAX } from "./account-loads.ts";

function openLoads() {
  const sums = new Map<string, [inService: number, waiting: number]>();
  const loads = new AccountLoads((model, account, { inService, waiting }) => {
    const [served, waits] = sums.get(`${model} ${account}`) ?? [0, 0];
    sums.set(`${model} ${account}`, [served + inService, waits + waiting]);
  });
  return { loads, sum: (model: string, account: string) => sums.get(`${model} ${account}`) ?? [0, 0] };
}

test("an account's load is the sum of this gateway's requests and those in the other gateways' latest reports", () => {
  const { loads, sum } = openLoads();
  loads.count("m", "a", { inService: 2, waiting: 1 });
  loads.told("gw2", { m: { a: [3, 0], b: [1, 4] } }, { whole: false });
  loads.told("gw3", { m: { a: [1, 1] } }, { whole: true });
  assert.deepEqual(
    [sum("m", "a"), sum("m", "b")],
    [
      [6, 2],
      [1, 4],
    ],
  );
  loads.told("gw2", { m: { a: [1, 0] } }, { whole: false });
  assert.deepEqual(
    [sum("m", "a"), sum("m", "b")],
    [
      [4, 2],
      [1, 4],
    ],
  );
  loads.told("gw2", { m: { a: [1, 0] } }, { whole: true });
  assert.deepEqual(sum("m", "b"), [0, 0], "a complete report replaces the earlier ones");
  loads.told("gw2", {}, { whole: true });
  loads.told("gw3", {}, { whole: true });
  assert.deepEqual(sum("m", "a"), [2, 1], "gateways that left have no requests");
  assert.deepEqual(loads.own(), { m: { a: [2, 1] } });
  loads.count("m", "a", { inService: -2, waiting: -1 });
  assert.deepEqual([loads.own(), sum("m", "a")], [{}, [0, 0]]);
});

test("a gateway reports the loads of a limited number of accounts", () => {
  const { loads } = openLoads();
  for (let i = 0; i < REPORTED_LOADS_MAX + 5; i++)
    loads.count(i % 2 === 0 ? "m" : "n", `account ${i}`, { inService: 1, waiting: 0 });
  const told = Object.values(loads.own()).reduce((sum, accounts) => sum + Object.keys(accounts).length, 0);
  assert.equal(told, REPORTED_LOADS_MAX);
});

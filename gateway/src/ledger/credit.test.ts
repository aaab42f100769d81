import assert from "node:assert/strict";
import { test } from "node:test";
import type { Uuid } from "../base/ids.ts";
import { manualClock } from "../base/testing.ts";
import { openCreditCache } from "./credit.ts";

const [ONE, TWO, THREE] = ["one", "two", "three"] as Uuid[] as [Uuid, Uuid, Uuid];

/** Opens the credit check on a database whose answers the test controls. */
function open(rememberedMax?: number) {
  const clock = manualClock();
  const looks: { accountId: Uuid; answer: (has: boolean) => void; fail: (error: Error) => void }[] = [];
  const look = (accountId: Uuid): Promise<boolean> =>
    new Promise((resolve, reject) => looks.push({ accountId, answer: resolve, fail: reject }));
  const credit = openCreditCache({ clock, look, ...(rememberedMax !== undefined && { rememberedMax }) });
  const answer = (has: boolean): void => looks.pop()?.answer(has);
  return { clock, credit, looks, answer };
}

test("the credit cache shares one balance query among concurrent callers and keeps the result for one second", async () => {
  const { clock, credit, looks, answer } = open();
  const asked = [credit.has(ONE), credit.has(ONE), credit.has(ONE)];
  assert.equal(looks.length, 1);
  answer(false);
  assert.deepEqual(await Promise.all(asked), [false, false, false]);
  clock.advance(999);
  assert.equal(credit.has(ONE), false, "without a look, and without a wait");
  clock.advance(1);
  const again = credit.has(ONE);
  assert.equal(looks.length, 1, "it is a second old");
  answer(true);
  assert.equal(await again, true);
});

test("the credit cache starts a new query after one second, and keeps its result when the older query ends later", async () => {
  const { clock, credit, looks } = open();
  const slow = credit.has(ONE);
  clock.advance(1_000);
  const next = credit.has(ONE);
  assert.equal(looks.length, 2);
  looks[0]?.answer(false);
  assert.equal(await slow, false);
  looks[1]?.answer(true);
  assert.equal(await next, true);
  assert.equal(credit.has(ONE), true, "the older answer does not take the place of the newer");
});

test("the credit cache keeps the result of a slow query for one second after the query started", async () => {
  const { clock, credit, looks, answer } = open();
  const slow = credit.has(ONE);
  clock.advance(600);
  answer(true);
  assert.equal(await slow, true);
  clock.advance(399);
  assert.equal(credit.has(ONE), true);
  clock.advance(1);
  void credit.has(ONE);
  assert.equal(looks.length, 1, "it is a second old");
});

test("the credit cache takes an account's state from its last hold instead of a query, and keeps the newest state", async () => {
  const { clock, credit, looks } = open();
  const begun = clock.monotonic();
  credit.learned(ONE, true, begun);
  assert.equal(credit.has(ONE), true);
  clock.advance(500);
  credit.learned(ONE, false, clock.monotonic());
  credit.learned(ONE, true, begun);
  assert.equal(credit.has(ONE), false);
  assert.equal(looks.length, 0);
});

test("the credit cache queries the balance again after a transfer, even if an earlier query is still in flight", async () => {
  const { credit, looks } = open();
  const before = credit.has(ONE);
  credit.forget(ONE);
  const after = credit.has(ONE);
  assert.equal(looks.length, 2);
  looks[0]?.answer(false);
  looks[1]?.answer(true);
  assert.deepEqual(await Promise.all([before, after]), [false, true]);
  assert.equal(credit.has(ONE), true);
});

test("the credit cache rejects all waiting callers when a balance query fails, and does not keep the failure", async () => {
  const { credit, looks, answer } = open();
  const asked = credit.has(ONE);
  looks.pop()?.fail(new Error("the store is away"));
  await assert.rejects(async () => asked, /the store is away/);
  const again = credit.has(ONE);
  answer(true);
  assert.equal(await again, true);
});

test("the credit cache removes the oldest cached account when the cache is full", async () => {
  const { clock, credit, looks } = open(2);
  for (const id of [ONE, TWO, THREE]) credit.learned(id, true, clock.monotonic());
  assert.equal(credit.has(TWO), true);
  assert.equal(credit.has(THREE), true);
  void credit.has(ONE);
  assert.deepEqual(
    looks.map(({ accountId }) => accountId),
    [ONE],
  );
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { Away } from "../base/dependency.ts";
import { manualClock } from "../base/testing.ts";
import { Batcher } from "./batcher.ts";
import { isConnectionLoss } from "./errors.ts";

const AWAY = new Away("database", "x");

test("while the store is away, who waits for the outcome is refused at once, all of a batch", async () => {
  let sent = 0;
  const send = (): Promise<string[]> => {
    sent += 1;
    return Promise.reject(AWAY);
  };
  const options = {
    clock: manualClock(),
    sizeMax: 8,
    retryForMs: 5_000,
    isConnectionLoss,
    whenAway: "refuse",
  } as const;
  const batcher = new Batcher<number, string>(send, options);
  const asked = [1, 2, 3].map((op) => batcher.add(op));
  for (const one of asked) await assert.rejects(one, (error) => error === AWAY);
  assert.equal(sent, 1);
});

test("others go on until their time is over", async () => {
  const clock = manualClock();
  let isAway = true;
  const send = async (ops: number[]): Promise<string[]> => {
    if (isAway) throw AWAY;
    return ops.map(String);
  };
  const batcher = new Batcher<number, string>(send, { clock, sizeMax: 8, retryForMs: 5_000, isConnectionLoss });
  const asked = batcher.add(1);
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  await settle();
  clock.advance(100);
  await settle();
  isAway = false;
  clock.advance(100);
  assert.equal(await asked, "1");
});

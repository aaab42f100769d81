/** Tests the retry schedule of deliveries. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { DeliveryChannel } from "../base/stored-enumerations.ts";
import { computeNextAttemptAtMs } from "./retry-schedule.ts";

/** The attempts for an address that never answers, in seconds after the event. */
function triesOf(channel: DeliveryChannel): number[] {
  const tried = [0];
  for (;;) {
    const nowMs = (tried.at(-1) as number) * 1000;
    const next = computeNextAttemptAtMs({ channel, attempts: tried.length, createdAtMs: 0, nowMs });
    if (next === undefined) return tried;
    tried.push(next / 1000);
  }
}

test("a webhook is retried with growing delays of up to two hours, for a day", () => {
  const tried = triesOf("webhook");
  assert.deepEqual(tried.slice(0, 9), [0, 30, 90, 210, 450, 930, 1890, 3810, 7650]);
  assert.equal((tried.at(-1) as number) - (tried.at(-2) as number), 7200);
  assert.ok((tried.at(-1) as number) <= 86_400);
  assert.ok((tried.at(-1) as number) > 86_400 - 7200);
  assert.deepEqual(triesOf("slack"), tried);
});

test("an email is retried for three days", () => {
  const last = triesOf("email").at(-1) as number;
  assert.ok(last > 3 * 86_400 - 7200 && last <= 3 * 86_400);
});

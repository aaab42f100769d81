/** Tests bodies and signatures of webhooks as they are documented for receivers. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { Uuid } from "../base/ids.ts";
import { makeSlackBody, makeWebhookBody, signWebhookBody } from "./webhook-payloads.ts";

const told = {
  id: "0193f2a0-0000-7000-8000-000000000001" as Uuid,
  fact: { kind: "low_credit", data: { balance_micro: "4980000.000000", threshold_micro: "5000000.000000" } },
  account: { id: "0193f2a0-0000-7000-8000-000000000002" as Uuid, name: "A & <B>" },
  createdAt: new Date("2026-11-18T12:00:00Z"),
  origin: "https://gateway.example.com",
} as const;

test("a webhook's signature is t=SECONDS,v1=HMAC-SHA256 over the seconds, a dot and the body", () => {
  const signature = signWebhookBody('{"id":"ntf_1"}', { secret: "whsec_test", unixSeconds: 1_790_000_000 });
  // The expected value was computed with Python's hmac module.
  assert.equal(signature, "t=1790000000,v1=78c24d0a72a22e34992df804c699477b88adcff177d518257266f071d64d6608");
});

test("the guide's code accepts a valid webhook signature, and refuses one that is old or made for another body or secret", async (t) => {
  const guide = readFileSync(new URL("../../../docs/notifications.md", import.meta.url), "utf8");
  const folder = mkdtempSync(join(tmpdir(), "tollgate-guide-"));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "verify.ts"), /```ts\n([\s\S]*?)```/.exec(guide)?.[1] ?? "");
  const { isFromTollgate } = await import(join(folder, "verify.ts"));
  const unixSeconds = Math.floor(Date.now() / 1000);
  const body = makeWebhookBody(told);
  const signature = signWebhookBody(body, { secret: "whsec_test", unixSeconds });
  assert.equal(isFromTollgate(body, signature, "whsec_test"), true);
  assert.equal(isFromTollgate(`${body} `, signature, "whsec_test"), false);
  assert.equal(isFromTollgate(body, signature, "whsec_other"), false);
  assert.equal(isFromTollgate(body, "", "whsec_test"), false);
  const old = signWebhookBody(body, { secret: "whsec_test", unixSeconds: unixSeconds - 3600 });
  assert.equal(isFromTollgate(body, old, "whsec_test"), false);
});

test("a webhook's body contains the event's data, a text and a link", () => {
  const body = JSON.parse(makeWebhookBody(told));
  assert.deepEqual(Object.keys(body), [
    "id",
    "object",
    "kind",
    "account_id",
    "created_at",
    "title",
    "text",
    "url",
    "data",
  ]);
  assert.equal(body.created_at, 1_795_003_200);
  assert.equal(body.title, "Your balance is below $5.00");
  assert.equal(body.url, "https://gateway.example.com/console/credits");
  assert.deepEqual(body.data, told.fact.data);
});

test("special characters are escaped in text for Slack", () => {
  const { text } = JSON.parse(makeSlackBody(told));
  assert.match(text, /^\*Your balance is below \$5\.00\*\nThe balance of the account “A &amp; &lt;B&gt;”/);
  assert.match(text, /\n<https:\/\/gateway\.example\.com\/console\/credits\|Open the console>$/);
});

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { listSetupSteps } from "./setup-steps.ts";

const STEPS = (["tls", "email", "payments", "second_operator"] as const).map((step) => ({
  step,
  done: step === "tls",
}));

test("detects finished steps by itself, except backups and alerts, which operators tick off", () => {
  const shown = listSetupSteps({ steps: STEPS, ticked: ["backups"] });
  assert.deepEqual(
    shown.map(({ step, done, own }) => [step, done, own]),
    [
      ["tls", true, undefined],
      ["email", false, undefined],
      ["payments", false, undefined],
      ["second_operator", false, undefined],
      ["backups", true, "backups"],
      ["alerts", false, "alerts"],
    ],
  );
});

test("links every step to a page of the guide", () => {
  for (const { guide } of listSetupSteps({ steps: STEPS, ticked: [] })) {
    const page = guide.replace("/docs/guide/", "");
    assert.ok(existsSync(new URL(`../../../../../docs/${page}.md`, import.meta.url)), page);
  }
});

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { describePlatformHealth } from "./platform-health-summary.ts";

const NOW_MS = 1_790_000_100_000;
const cause = (code: "no_models" | "no_capacity" | "errors", ...models: string[]) => ({
  code,
  models,
  part: null,
  since: NOW_MS / 1000 - 60,
});
const triage = (state: "serving" | "degraded" | "down", ...causes: ReturnType<typeof cause>[]) => ({
  state,
  causes,
  models: 3,
});
const ALL = [
  describePlatformHealth(undefined, [{ part: "database", since: NOW_MS / 1000 - 40, needed: true }], NOW_MS),
  describePlatformHealth(triage("down", cause("no_capacity", "a", "b", "c")), [], NOW_MS),
  describePlatformHealth(triage("degraded", cause("no_capacity", "a", "b")), [], NOW_MS),
  describePlatformHealth(triage("degraded", cause("errors", "a")), [], NOW_MS),
  describePlatformHealth({ ...triage("down", cause("no_models")), models: 0 }, [], NOW_MS),
  describePlatformHealth(triage("serving"), [], NOW_MS),
];

test("distinguishes a total outage, a partial outage and normal operation", () => {
  assert.deepEqual(
    ALL.map((words) => words?.title),
    [
      "Down: the database is unreachable for 40 s",
      "Down: no node is connected",
      "Degraded: 2 of 3 models have no capacity",
      "Degraded: requests for 1 of 3 models fail",
      "Down: no model is offered",
      "Serving",
    ],
  );
});

test("gives every problem an effect, a likely cause, a next step and a runbook section", () => {
  const anchors = ["runbook", "payments"].flatMap((name) => {
    const page = readFileSync(new URL(`../../../../../docs/operators/${name}.md`, import.meta.url), "utf8");
    return [...page.matchAll(/^##+ (\w+)$/gm)].map(([, title = ""]) => `${name}#${title.toLowerCase()}`);
  });
  for (const words of ALL.filter((one) => one?.state !== "serving")) {
    assert.ok(words?.meaning && words.cause && words.next, words?.title);
    assert.ok(anchors.includes(words.runbook?.split("/").at(-1) ?? ""), words.runbook);
  }
});

test("shows no status until the gateway has responded or a needed dependency is known to be unreachable", () => {
  assert.equal(describePlatformHealth(undefined, [], NOW_MS), undefined);
  assert.equal(describePlatformHealth(undefined, [{ part: "limits", since: 0, needed: false }], NOW_MS), undefined);
});

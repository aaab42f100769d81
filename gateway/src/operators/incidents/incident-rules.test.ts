import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { PlatformHealth, PlatformHealthCause } from "../judge-platform-health.ts";
import { combineHealthReports, decideNextIncidentStep, type Problem, type TrackedProblem } from "./incident-rules.ts";

const NOW = 1_790_000_000_000;
const serving: PlatformHealth = { state: "serving", causes: [] };
const away: PlatformHealth = { state: "down", causes: [{ code: "unreachable", part: "plane", since: NOW - 5_000 }] };
const missing = (...models: string[]): PlatformHealth => ({
  state: "degraded",
  causes: [{ code: "no_capacity", models, of: 3, since: null } satisfies PlatformHealthCause],
});
const empty: PlatformHealth = { state: "down", causes: [{ code: "no_models", models: [], since: null }] };
const failing: PlatformHealth = {
  state: "degraded",
  causes: [{ code: "errors", models: ["a"], since: NOW - 60_000 }],
};

describe("observations of several gateways", () => {
  const TABLE: [string, PlatformHealth[], string | undefined, string[] | undefined][] = [
    ["no gateway says anything", [], undefined, undefined],
    ["all serve", [serving, serving], undefined, []],
    ["the only one is down", [away], "down plane", undefined],
    ["one of two is down", [serving, away], "degraded plane", []],
    ["both are down", [away, away], "down plane", undefined],
    ["no model is offered", [empty], "down no_capacity", undefined],
    ["both miss a model", [missing("a"), missing("b", "a")], undefined, ["a down no_capacity"]],
    ["only one misses a model", [missing("a"), serving], undefined, []],
    ["requests for a model fail", [failing, failing], undefined, ["a degraded errors"]],
    ["one is down, the other misses a model", [away, missing("a")], "degraded plane", ["a down no_capacity"]],
  ];
  for (const [title, verdicts, platform, models] of TABLE) {
    test(title, () => {
      const found = combineHealthReports(verdicts, NOW);
      assert.equal(found.platform && `${found.platform.state} ${found.platform.cause}`, platform);
      const each = found.models && [...found.models].map(([model, { state, cause }]) => `${model} ${state} ${cause}`);
      assert.deepEqual(each, models);
    });
  }

  test("date the start of a problem from the first gateway that saw it", () => {
    assert.equal(combineHealthReports([away, serving], NOW).platform?.sinceMs, NOW - 5_000);
    assert.equal(combineHealthReports([missing("a")], NOW).models?.get("a")?.sinceMs, NOW);
  });
});

describe("observations over time, every ten seconds", () => {
  /**
   * `course` has one character per ten seconds: `.` serving, `g` degraded, `d` down. Returns all incidents, with times
   * in tens of seconds.
   */
  function incidentsOf(course: string): string[] {
    const told: string[] = [];
    let known: TrackedProblem | undefined;
    const seenAt = (char: string, nowMs: number): Problem | undefined =>
      char === "." ? undefined : { state: char === "d" ? "down" : "degraded", cause: "plane", sinceMs: nowMs };
    for (const [i, char] of [...course].entries()) {
      const step = decideNextIncidentStep(known, seenAt(char, i * 10_000), i * 10_000);
      if (step.kind === "track") known = step;
      if (step.kind === "end" && known) told.push(`${known.state} ${known.beganMs / 10_000}-${step.atMs / 10_000}`);
      if (step.kind === "end" || step.kind === "forget") known = undefined;
    }
    if (known?.isOpen) told.push(`${known.state} ${known.beganMs / 10_000}-`);
    return told;
  }
  const calm = ".".repeat(12);
  const TABLE: [string, string, string[]][] = [
    ["find no incident without a problem", calm, []],
    ["find no incident in fifty seconds", `dddddd${calm}`, []],
    ["find an incident after a minute", "..ddddddd", ["down 2-"]],
    ["end an incident when the problem was last seen", `ddddddd${calm}`, ["down 0-6"]],
    ["continue an incident until two calm minutes", `ddddddd${".".repeat(11)}`, ["down 0-"]],
    ["join an intermittent problem to one incident", `dd..dd..dd..dd${calm}`, ["down 0-13"]],
    [
      "separate incidents with two calm minutes between them",
      `ggggggg${calm}ggggggg${calm}`,
      ["degraded 0-6", "degraded 19-25"],
    ],
    ["record the worst state of an incident", `ggggdggg${calm}`, ["down 0-7"]],
  ];
  for (const [title, course, expected] of TABLE) {
    test(title, () => assert.deepEqual(incidentsOf(course), expected));
  }

  test('replace the cause "stopped" of an outage by the cause that a gateway reports later', () => {
    const known = { state: "down" as const, cause: "stopped" as const, beganMs: 0, lastMs: 60_000, isOpen: true };
    const step = decideNextIncidentStep(known, { state: "down", cause: "database", sinceMs: 60_000 }, 60_000);
    assert.deepEqual(step, { kind: "track", ...known, cause: "database" });
  });
});

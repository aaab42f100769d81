import assert from "node:assert/strict";
import { test } from "node:test";
import { createReachableDependency, type Dependency } from "../base/dependency.ts";
import { createStartupHealth } from "./health.ts";

test("while a gateway starts, its readiness names every dependency with its state", async () => {
  let missing: { name: string; reason: string; settings?: string[] } | undefined;
  const opened: Dependency[] = [];
  const health = createStartupHealth(
    () => missing,
    () => opened,
  );
  const ready = async () => {
    const { status, ...rest } = await health.ready();
    assert.equal(status, "not ready");
    return rest;
  };
  missing = { name: "database", reason: "it is a standby" };
  assert.deepEqual(await ready(), {
    dependencies: { database: "away", limits: "unknown", plane: "unknown" },
    reasons: { database: "it is a standby" },
  });
  missing = { name: "deployment", reason: "KEY_PEPPER differs", settings: ["pepper"] };
  opened.push(createReachableDependency("database"));
  assert.deepEqual(await ready(), {
    dependencies: { database: "up", limits: "unknown", plane: "unknown" },
    reasons: { deployment: "KEY_PEPPER differs" },
  });
  missing = undefined;
  opened.push({ ...createReachableDependency("plane"), isAway: true, reason: "no NATS server answers" });
  assert.deepEqual(await ready(), {
    dependencies: { database: "up", limits: "unknown", plane: "away" },
    reasons: { plane: "no NATS server answers", gateway: "it is starting" },
  });
});

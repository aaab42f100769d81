import assert from "node:assert/strict";
import { test } from "node:test";
import { manualClock } from "../base/testing.ts";
import { watchOutages } from "./outages.ts";

test("the list of outages has each unreachable dependency with the start of its outage, until the outage ends", () => {
  const clock = manualClock();
  const database = { name: "database" as const, isAway: false, latencyMs: null };
  const outages = watchOutages({ clock, dependencies: [{ of: database, isNeeded: true }] });
  assert.deepEqual(outages.now(), []);
  database.isAway = true;
  clock.advance(1_000);
  const since = clock.now();
  clock.advance(40_000);
  assert.deepEqual(outages.now(), [{ part: "database", since, isNeeded: true }]);
  database.isAway = false;
  assert.deepEqual(outages.now(), []);
  outages.stop();
});

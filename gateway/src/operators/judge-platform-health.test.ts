import assert from "node:assert/strict";
import { test } from "node:test";
import { judgePlatformHealth } from "./judge-platform-health.ts";

const AT = new Date("2026-11-18T06:00:00Z");
const SEEN = {
  outages: [],
  capacity: [
    { model: "a", nodes: 2 },
    { model: "b", nodes: 1 },
    { model: "c", nodes: 0 },
  ],
  served: new Set(["a", "b"]),
  incidents: [],
};

test("a platform is serving if every model that it served before has a node", () => {
  assert.deepEqual(judgePlatformHealth(SEEN), { state: "serving", causes: [] });
});

test("a platform without a connected node is down", () => {
  const capacity = SEEN.capacity.map(({ model }) => ({ model, nodes: 0 }));
  assert.deepEqual(judgePlatformHealth({ ...SEEN, capacity, served: new Set() }), {
    state: "down",
    causes: [{ code: "no_capacity", models: ["a", "b", "c"], of: 3, since: null }],
  });
});

test("a platform without an active model is down, because the catalogue offers none", () => {
  assert.deepEqual(judgePlatformHealth({ ...SEEN, capacity: [] }), {
    state: "down",
    causes: [{ code: "no_models", models: [], since: null }],
  });
});

test("a platform is degraded while a model it served has no node, dated from the incident's start", () => {
  const capacity = [
    { model: "a", nodes: 2 },
    { model: "b", nodes: 0 },
    { model: "c", nodes: 0 },
  ];
  const incidents = [{ model: "b", kind: "unavailable" as const, beganAt: AT }];
  assert.deepEqual(judgePlatformHealth({ ...SEEN, capacity, incidents }), {
    state: "degraded",
    causes: [{ code: "no_capacity", models: ["b"], of: 2, since: AT.getTime() }],
  });
});

test("a platform is degraded while requests for one of its models fail", () => {
  const incidents = [{ model: "a", kind: "errors" as const, beganAt: AT }];
  assert.deepEqual(judgePlatformHealth({ ...SEEN, incidents }), {
    state: "degraded",
    causes: [{ code: "errors", models: ["a"], since: AT.getTime() }],
  });
});

test("a platform is down if a required dependency is unreachable; optional dependencies do not count", () => {
  const plane = { part: "plane" as const, since: 7, isNeeded: true };
  const limits = { part: "limits" as const, since: 3, isNeeded: false };
  assert.deepEqual(judgePlatformHealth({ ...SEEN, outages: [limits] }).state, "serving");
  assert.deepEqual(judgePlatformHealth({ ...SEEN, outages: [limits, plane] }), {
    state: "down",
    causes: [{ code: "unreachable", part: "plane", since: 7 }],
  });
});

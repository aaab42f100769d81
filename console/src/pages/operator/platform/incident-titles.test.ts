import assert from "node:assert/strict";
import { test } from "node:test";
import { formatIncidentTitle, shownIncidents } from "./incident-titles.ts";

test("describes the effect of an incident and its cause", () => {
  assert.equal(
    formatIncidentTitle({ model: null, state: "down", cause: "database" }),
    "All requests: the database was unreachable",
  );
  assert.equal(
    formatIncidentTitle({ model: null, state: "degraded", cause: "plane" }),
    "Some requests: the dispatch plane was unreachable",
  );
  assert.equal(formatIncidentTitle({ model: "a", state: "down", cause: "no_capacity" }), "a: no node was connected");
});

test("shows all open incidents and the last three ended ones", () => {
  const [open, past] = [{ to: null }, { to: 1 }];
  assert.deepEqual(shownIncidents([past, open, past, past, past, open]), [open, open, past, past, past]);
});

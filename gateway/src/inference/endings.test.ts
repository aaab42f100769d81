import assert from "node:assert/strict";
import { test } from "node:test";
import { type Facts, judge } from "./endings.ts";

const NONE: Facts = { accepted: true, hadOutput: false, reachedClient: false };
const KEPT: Facts = { ...NONE, hadOutput: true };
const SENT: Facts = { ...KEPT, reachedClient: true };
const NOBODY: Facts = { ...NONE, accepted: false };

test("the table of endings, one row for each line of it", () => {
  const rows = [
    // what happened · end, facts → outcome, status, billed, host paid
    ["finished, with output", "finished", KEPT, "ok", 200, "all", true],
    ["finished, streamed", "finished", SENT, "ok", 200, "all", true],
    ["cut at the cap", "enough", SENT, "ok", 200, "all", true],
    ["not one token, and a second node found none either", "empty", NONE, "ok", 200, "all", true],
    ["not one token, and no other node had an opinion", "unconfirmed", NONE, "ok", 200, "nothing", false],
    ["the node reports failure, with output", "failed", KEPT, "upstream_failed", 502, "all", true],
    ["the node reports failure, in a stream", "failed", SENT, "upstream_failed", 502, "all", true],
    ["the node reports failure, without output", "failed", NONE, "upstream_failed", 502, "all", false],
    ["the engine cannot build the format's grammar", "unbuilt", NONE, "upstream_failed", 502, "nothing", false],
    ["the node breaks the protocol, in a stream", "broken", SENT, "upstream_failed", 502, "delivered", false],
    ["the node breaks the protocol, not streamed", "broken", KEPT, "upstream_failed", 502, "nothing", false],
    ["the node breaks the protocol before output", "broken", NONE, "upstream_failed", 502, "nothing", false],
    ["quiet, terminal, with output", "quiet", KEPT, "upstream_stall", 502, "all", true],
    ["quiet, terminal, in a stream", "quiet", SENT, "upstream_stall", 502, "all", true],
    ["quiet, terminal, without output", "quiet", NONE, "upstream_stall", 502, "nothing", false],
    ["the plane loses the node, in a stream", "cut", SENT, "plane_lost", 502, "delivered", true],
    ["the plane loses the node, not streamed", "cut", KEPT, "plane_lost", 503, "nothing", false],
    ["the plane loses the node before output", "cut", NONE, "plane_lost", 503, "nothing", false],
    ["no node in time", "no_capacity", NOBODY, "no_capacity", 503, "nothing", false],
    ["the client goes away, with output", "cancelled", SENT, "client_closed", 499, "all", true],
    ["the client goes away before output", "cancelled", NONE, "client_closed", 499, "all", true],
    ["the client goes away before acceptance", "cancelled", NOBODY, "client_closed", 499, "nothing", false],
    ["the gateway stops, in a stream", "stopped", SENT, "gateway_stopped", 502, "delivered", true],
    ["the gateway stops, not streamed", "stopped", KEPT, "gateway_stopped", 503, "nothing", false],
    ["the gateway stops before output", "stopped", NONE, "gateway_stopped", 503, "nothing", false],
    ["the gateway stops before acceptance", "stopped", NOBODY, "gateway_stopped", 503, "nothing", false],
  ] as const;
  for (const [what, end, facts, outcome, httpStatus, billed, paid] of rows) {
    const isTold = outcome !== "ok" && outcome !== "client_closed";
    const ofOurs = httpStatus === 503 ? "no_capacity" : "upstream_stall";
    const fault = !isTold ? null : outcome === "gateway_stopped" || outcome === "plane_lost" ? ofOurs : outcome;
    assert.deepEqual(judge(end, facts), { outcome, httpStatus, fault, billed, paid }, what);
  }
});

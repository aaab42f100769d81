import assert from "node:assert/strict";
import { test } from "node:test";
import { explainsWait, type Facts, judge } from "./endings.ts";

const NONE: Facts = { accepted: true, hadOutput: false, reachedClient: false, waitExplained: true };
const KEPT: Facts = { ...NONE, hadOutput: true };
const SENT: Facts = { ...KEPT, reachedClient: true };
const LONG: Facts = { ...NONE, waitExplained: false };
const NOBODY: Facts = { ...NONE, accepted: false };

test("the table of endings, one row for each line of it", () => {
  const rows = [
    // what happened · end, facts → outcome, status, billed, host's share
    ["finished, with output", "finished", KEPT, "ok", 200, "all", "paid"],
    ["finished, streamed", "finished", SENT, "ok", 200, "all", "paid"],
    ["a stop string that matched at once", "enough", NONE, "ok", 200, "all", "paid"],
    ["cut at the cap", "enough", SENT, "ok", 200, "all", "paid"],
    ["not one token, and a second node found none either", "empty", NONE, "ok", 200, "all", "paid"],
    ["not one token, and no other node had an opinion", "unconfirmed", NONE, "ok", 200, "nothing", "none"],
    ["the node reports failure, with output", "failed", KEPT, "upstream_failed", 502, "all", "node_failed"],
    ["the node reports failure, in a stream", "failed", SENT, "upstream_failed", 502, "all", "node_failed"],
    ["the node reports failure, without output", "failed", NONE, "upstream_failed", 502, "all", "node_failed"],
    ["the engine cannot build the format's grammar", "unbuilt", NONE, "upstream_failed", 502, "nothing", "none"],
    ["the node breaks the protocol, in a stream", "broken", SENT, "upstream_failed", 502, "delivered", "none"],
    ["the node breaks the protocol, not streamed", "broken", KEPT, "upstream_failed", 502, "nothing", "none"],
    ["the node breaks the protocol before output", "broken", NONE, "upstream_failed", 502, "nothing", "none"],
    ["quiet, terminal, with output", "quiet", KEPT, "upstream_stall", 502, "all", "node_silent"],
    ["quiet, terminal, in a stream", "quiet", SENT, "upstream_stall", 502, "all", "node_silent"],
    ["quiet, terminal, without output", "quiet", NONE, "upstream_stall", 502, "nothing", "none"],
    ["the plane loses the node, in a stream", "cut", SENT, "plane_lost", 502, "delivered", "paid"],
    ["the plane loses the node, not streamed", "cut", KEPT, "plane_lost", 503, "nothing", "none"],
    ["the plane loses the node before output", "cut", NONE, "plane_lost", 503, "nothing", "none"],
    ["no node in time", "no_capacity", NOBODY, "no_capacity", 503, "nothing", "none"],
    ["the client goes away, with output", "cancelled", SENT, "client_closed", 499, "all", "paid"],
    ["the client goes away before output", "cancelled", NONE, "client_closed", 499, "all", "paid"],
    [
      "the client goes away before output, after a long wait",
      "cancelled",
      LONG,
      "client_closed",
      499,
      "all",
      "no_first_token",
    ],
    ["the client goes away before acceptance", "cancelled", NOBODY, "client_closed", 499, "nothing", "none"],
    ["the gateway stops, in a stream", "stopped", SENT, "gateway_stopped", 502, "delivered", "paid"],
    ["the gateway stops, not streamed", "stopped", KEPT, "gateway_stopped", 503, "nothing", "none"],
    ["the gateway stops before output", "stopped", NONE, "gateway_stopped", 503, "nothing", "none"],
    ["the gateway stops before acceptance", "stopped", NOBODY, "gateway_stopped", 503, "nothing", "none"],
  ] as const;
  for (const [what, end, facts, outcome, httpStatus, billed, share] of rows) {
    const isTold = outcome !== "ok" && outcome !== "client_closed";
    const ofOurs = httpStatus === 503 ? "no_capacity" : "upstream_stall";
    const fault = !isTold ? null : outcome === "gateway_stopped" || outcome === "plane_lost" ? ofOurs : outcome;
    assert.deepEqual(judge(end, facts), { outcome, httpStatus, fault, billed, share }, what);
  }
});

test("a wait for the first token is explained by 3 times the model's own time for a prompt of that length", () => {
  const rows = [
    // prompt tokens, waited, model's median, its median per prompt token → explained
    [100, 600, 200, 2, true],
    [100, 601, 200, 2, false],
    ["a short prompt takes as long as the median", 1, 600, 200, 2, true],
    ["a short prompt", 1, 601, 200, 2, false],
    ["a long prompt takes as long as its tokens", 30_000, 180_000, 200, 2, true],
    ["a long prompt", 30_000, 180_001, 200, 2, false],
    ["the prompts' lengths are not known", 30_000, 601, 200, null, false],
    ["nobody has measured the model", 1, 900_000, null, null, true],
  ] as const;
  for (const row of rows) {
    const [promptTokens, waitedMs, ttftMs, ttftMsPerToken, explained] = row.slice(-5) as [
      number,
      number,
      number | null,
      number | null,
      boolean,
    ];
    assert.equal(explainsWait({ waitedMs, promptTokens }, { ttftMs, ttftMsPerToken }), explained, String(row));
  }
});

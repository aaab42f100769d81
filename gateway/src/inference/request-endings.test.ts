import assert from "node:assert/strict";
import { test } from "node:test";
import { decideEnding, type EndingCircumstances, isNormalPace, isNormalWait } from "./request-endings.ts";

const NONE: EndingCircumstances = {
  ...{ accepted: true, hadOutput: false, reachedClient: false },
  ...{ waitExplained: true, paceExplained: true },
};
const KEPT: EndingCircumstances = { ...NONE, hadOutput: true };
const SENT: EndingCircumstances = { ...KEPT, reachedClient: true };
const LONG: EndingCircumstances = { ...NONE, waitExplained: false };
const CRAWLED: EndingCircumstances = { ...SENT, paceExplained: false };
const NOBODY: EndingCircumstances = { ...NONE, accepted: false };

test("each way in which a request ends has the outcome, status, charge and host's share that the specification states", () => {
  const rows = [
    // Columns: case, end, facts, expected outcome, status, billed part, host's share.
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
    ["the client goes away from a crawl", "cancelled", CRAWLED, "client_closed", 499, "all", "node_silent"],
    ["a crawl that its client waits for", "finished", CRAWLED, "ok", 200, "all", "paid"],
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
    assert.deepEqual(decideEnding(end, facts), { outcome, httpStatus, fault, billed, share }, what);
  }
});

test("a wait for the first token of up to 3 times the model's usual wait counts as normal", () => {
  const rows = [
    // Columns: prompt tokens, wait in ms, the model's median wait, its median wait per prompt token, counts as normal.
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
    assert.equal(isNormalWait({ waitedMs, promptTokens }, { ttftMs, ttftMsPerToken }), explained, String(row));
  }
});

test("an output speed of 2 tokens per second, or of a third of the model's usual speed, counts as normal", () => {
  const rows: [what: string, tokens: number, outputMs: number, usual: number | null, explained: boolean][] = [
    ["a word every 1.9 s", 5, 4 * 1_900, 60, false],
    ["2 tokens a second", 21, 10_000, 60, true],
    ["just under 2 tokens a second", 20, 10_000, 60, false],
    ["a machine that is slow, and no crawl", 31, 10_000, 300, true],
    ["a model that is as slow everywhere", 5, 4 * 1_900, 0.6, true],
    ["a third of the model's own pace", 11, 10_000, 3, true],
    ["less than that", 10, 10_000, 3, false],
    ["too short to tell", 2, 2_999, 60, true],
    ["one token", 1, 0, 60, true],
    ["a model that nobody has measured", 5, 4 * 1_900, null, true],
  ];
  for (const [what, tokens, outputMs, tokensPerSecond, explained] of rows)
    assert.equal(isNormalPace({ tokens, outputMs }, { tokensPerSecond }), explained, what);
});

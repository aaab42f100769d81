import assert from "node:assert/strict";
import { test } from "node:test";
import type { RequestObservation } from "@tollgate/stage/load/observation.ts";
import { SeededRandom } from "@tollgate/stage/seeded-random.ts";
import type { FaultEpisode } from "./audit/find-violations.ts";
import { buildReport, formatReportTable } from "./report.ts";

const sight = (beganAt: number, endedAt: number, changes: Partial<RequestObservation> = {}): RequestObservation => ({
  ...{ kind: "chat", endpoint: "chat", account: "a", model: "m", stream: false, cap: 1, text: "", received: "" },
  ...{ hangUpAfterMs: null, isPoor: false, requestId: null, status: 200, code: null, usage: null },
  ...{ end: "complete", beganAt, endedAt, ...changes },
});
const REFUSED: Partial<RequestObservation> = { end: "refused", status: 503, code: "no_capacity" };
const episode = (fault: string, struckAt: number): FaultEpisode => ({
  ...{ fault, struckAt, healedAt: struckAt + 1000, calmAt: struckAt + 5000, mayShow: ["503 no_capacity"] },
  ...{ mayWait: false, mayBar: false, recovered: true, recoversWithinMs: 45_000 },
});

test("the report has a row per fault with its clients' results and the time until recovery", () => {
  const report = buildReport({
    ...{ seed: 1, minutes: 1, repeat: "", versions: {}, left_out: [], requests_left_out: 0 },
    sights: [
      sight(0, 100),
      sight(10_500, 10_600, REFUSED),
      sight(12_500, 12_600, REFUSED),
      sight(13_000, 20_500),
      sight(20_500, 20_600, REFUSED),
    ],
    episodes: [episode("a", 10_000), episode("b", 20_000), episode("a", 30_000)],
    reported: [],
    violations: [{ rule: "lost", fault: "b", what: "" }],
  });
  assert.equal(
    formatReportTable(report),
    [
      "| Fault | Struck | Requests | Clients saw | Recovered after (median, max) | Lost | Double | Violations |",
      "|---|---|---|---|---|---|---|---|",
      "| quiet | 0 | 1 | no error | – | 0 | 0 | 0 |",
      "| a | 2 | 2 | 503 no_capacity × 2 | 0.8 s, 1.5 s | 0 | 0 | 0 |",
      "| b | 1 | 2 | 503 no_capacity × 1 | 0 s, 0 s | 1 | 0 | 1 |",
      "| all | 3 | 5 | 503 no_capacity × 3 | 0 s, 1.5 s | 1 | 0 | 1 |",
    ].join("\n"),
  );
});

test("the same seed gives the same order of faults", () => {
  const order = (seed: number): number[] => new SeededRandom(String(seed)).shuffled([1, 2, 3, 4, 5, 6, 7, 8]);
  assert.deepEqual(order(7), order(7));
  assert.notDeepEqual(order(7), order(8));
  assert.deepEqual(order(7).sort(), [1, 2, 3, 4, 5, 6, 7, 8]);
});

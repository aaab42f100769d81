import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  countLostHistoryPositions,
  type DatabaseHistory,
  judgeHistory,
  type ReportedHistory,
} from "./history-rules.ts";

const EARLIER = "019a0000-0000-7000-8000-000000000001";
const EPOCH = "019a0000-0000-7000-8000-000000000002";
const LATER = "019a0000-0000-7000-8000-000000000003";
const seen: DatabaseHistory = { system: "7001", timeline: 2, epoch: EPOCH, position: 100 };
const found = (change: Partial<ReportedHistory> = {}): ReportedHistory => ({ ...seen, accepted: false, ...change });

describe("judging a connection by the database history that it reports", () => {
  const table: [what: string, found: ReportedHistory, heard: number, expected: "same" | "moved" | RegExp][] = [
    ["the same position", found(), 0, "same"],
    ["a later position", found({ position: 101 }), 0, "same"],
    ["a position that moved back on the same timeline", found({ position: 99 }), 0, /moved back without a failover/],
    ["a promoted standby that has everything", found({ timeline: 3 }), 0, "moved"],
    ["a promoted standby that lost a tail", found({ timeline: 3, position: 90 }), 0, "moved"],
    ["a promoted standby that lost the epoch", found({ timeline: 3, epoch: EARLIER, position: 9 }), 0, "moved"],
    ["a promoted standby that another gateway found first", found({ timeline: 3, epoch: LATER }), 3, "moved"],
    ["the old primary", found({ timeline: 1, epoch: EARLIER, position: 500 }), 0, /old primary/],
    ["a primary that another gateway knows was replaced", found({ position: 500 }), 3, /timeline 3 exists/],
    ["a second standby that was promoted to the same timeline", found({ epoch: LATER }), 0, /another copy/],
    ["an earlier epoch on the same timeline", found({ epoch: EARLIER }), 0, /another copy/],
    ["another cluster", found({ system: "7002", timeline: 9 }), 0, /another PostgreSQL cluster/],
    ["another cluster with the same rows", found({ system: "7002" }), 0, /another PostgreSQL cluster/],
    [
      "another cluster that an operator accepted",
      found({ system: "7002", timeline: 1, epoch: LATER, accepted: true }),
      0,
      "moved",
    ],
    ["a copy that an operator accepted", found({ epoch: LATER, position: 3, accepted: true }), 0, "moved"],
    ["a copy that was accepted before the epoch began", found({ epoch: EARLIER, accepted: true }), 0, /another copy/],
    ["the accepted copy itself, later", found({ accepted: true, position: 101 }), 0, "same"],
  ];
  for (const [what, one, heard, expected] of table) {
    test(`${expected instanceof RegExp ? "refuses" : expected === "same" ? "uses" : "moves to"} ${what}`, () => {
      const judged = judgeHistory(seen, one, heard);
      if (expected instanceof RegExp) {
        assert.ok(judged.kind === "refused");
        assert.match(judged.why, expected);
      } else assert.equal(judged.kind, expected);
    });
  }

  test("accepts any history when the gateway has seen none before", () => {
    assert.deepEqual(judgeHistory(undefined, found({ system: "7002" })), { kind: "same" });
  });
});

test("countLostHistoryPositions() returns how many heartbeat positions a database is behind the last one that the gateway saw", () => {
  assert.equal(countLostHistoryPositions(seen, 100), 0);
  assert.equal(countLostHistoryPositions(seen, 120), 0);
  assert.equal(countLostHistoryPositions(seen, 94), 6);
  assert.equal(countLostHistoryPositions(seen, null), 100);
  assert.equal(countLostHistoryPositions({ ...seen, position: 0 }, null), 1, "the epoch itself was lost");
});

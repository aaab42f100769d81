import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { createLog } from "../base/log.ts";
import { type ManualClock, manualClock } from "../base/testing.ts";
import type { MeasuredAnswer } from "../dispatch/dispatcher.ts";
import type { Roster } from "../dispatch/roster.ts";
import { NO_OBSERVED_COUNTS, type ObservedNodeCounts } from "../fleet/node-record.ts";
import type { ActiveModel } from "../metering/catalogue.ts";
import { countNodeEvents, type NodeEventCounter } from "./node-event-counter.ts";

describe("the counts of node answers", () => {
  let owed: number;
  let clock: ManualClock;
  let hear: (measured: MeasuredAnswer) => void;
  let written: [string, Partial<ObservedNodeCounts>][];
  let write: () => Promise<void>;
  let tally: NodeEventCounter;
  beforeEach(() => {
    [owed, written, clock, write] = [20, [], manualClock(), async () => {}];
    tally = countNodeEvents({
      dispatcher: {
        onMeasured(run) {
          hear = run;
        },
      },
      roster: { find: () => ({ nodeRecord: { answersOwed: owed } }) } as unknown as Pick<Roster, "find">,
      activeModel: (id) => ({ id, kind: id === "embed" ? "embedding" : "generation" }) as ActiveModel,
      async write(seen) {
        await write();
        for (const [id, one] of seen) {
          written.push([id, Object.fromEntries(Object.entries(one).filter(([, count]) => count > 0))]);
        }
      },
      clock,
      log: createLog("silent"),
    });
  });
  const answer = (more: Partial<MeasuredAnswer> = {}): void =>
    hear({ nodeId: "a", model: "m", tokens: { prompt: 5, output: 7 }, spanMs: 10, own: false, ...more });

  test("are written immediately for a node on probation, for text and vectors", async () => {
    answer();
    await tally.settled();
    answer({ model: "embed", tokens: { prompt: 5, output: 0 } });
    await tally.settled();
    assert.deepEqual(written, Array(2).fill(["a", { answers: 1 }]));
  });

  test("leave out answers without output and the platform's own jobs", async () => {
    answer({ tokens: { prompt: 5, output: 0 } });
    answer({ own: true });
    await tally.settled();
    assert.deepEqual(written, []);
  });

  test("of trusted nodes are written together every five seconds", async () => {
    owed = 0;
    for (let i = 0; i < 100; i++) answer();
    tally.saw("a", "late");
    tally.saw("b", "silences");
    clock.advance(4_999);
    assert.deepEqual(written, []);
    clock.advance(1);
    await tally.settled();
    assert.deepEqual(written, [
      ["a", { answers: 100, late: 1 }],
      ["b", { silences: 1 }],
    ]);
  });

  test("are kept for the next write if they arrive during one, or if a write fails", async () => {
    const first = Promise.withResolvers<void>();
    write = () => first.promise;
    for (let i = 0; i < 5; i++) answer();
    first.resolve();
    await tally.settled();
    assert.deepEqual(written, [
      ["a", { answers: 1 }],
      ["a", { answers: 4 }],
    ]);
    write = () => Promise.reject(new Error("the store is away"));
    answer();
    await tally.settled();
    write = async () => {};
    answer();
    await tally.stop();
    assert.deepEqual(written.at(-1), ["a", { answers: 2 }]);
    assert.ok(NO_OBSERVED_COUNTS.answers === 0);
  });
});

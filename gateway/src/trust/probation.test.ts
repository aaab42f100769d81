import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { createLog } from "../base/log.ts";
import { turn } from "../base/testing.ts";
import type { Measured } from "../dispatch/dispatcher.ts";
import type { Roster } from "../dispatch/roster.ts";
import type { ActiveModel } from "../metering/catalogue.ts";
import { countAnswers } from "./probation.ts";

describe("the honest answers of nodes on probation", () => {
  let owed: number;
  let hear: (measured: Measured) => void;
  let recorded: [string, number][];
  let record: (nodeId: string, answers: number) => Promise<void>;
  let settled: () => Promise<void>;
  beforeEach(() => {
    [owed, recorded] = [20, []];
    record = async (id, answers) => void recorded.push([id, answers]);
    const counting = countAnswers({
      dispatcher: {
        onMeasured(run) {
          hear = run;
        },
      },
      roster: { find: () => ({ licence: { answersOwed: owed } }) } as unknown as Pick<Roster, "find">,
      activeModel: (id) => ({ id, kind: id === "embed" ? "embedding" : "generation" }) as ActiveModel,
      record: (id, answers) => record(id, answers),
      log: createLog("silent"),
    });
    settled = counting.settled;
  });
  const answer = (more: Partial<Measured> = {}): void =>
    hear({ nodeId: "a", model: "m", tokens: { prompt: 5, output: 7 }, spanMs: 10, own: false, ...more });

  test("a request with output counts, and vectors do", async () => {
    answer();
    await settled();
    answer({ model: "embed", tokens: { prompt: 5, output: 0 } });
    await settled();
    assert.deepEqual(recorded, [
      ["a", 1],
      ["a", 1],
    ]);
  });

  test("nothing, a job of the platform's own and a node that is trusted do not", async () => {
    answer({ tokens: { prompt: 5, output: 0 } });
    answer({ own: true });
    owed = 0;
    answer();
    await settled();
    assert.deepEqual(recorded, []);
  });

  test("what comes while it is recorded goes together with the next; what could not be recorded is not lost", async () => {
    const first = Promise.withResolvers<void>();
    let fail = false;
    record = async (id, answers) => {
      await first.promise;
      if (fail) throw new Error("the store is away");
      recorded.push([id, answers]);
    };
    for (let i = 0; i < 5; i++) answer();
    first.resolve();
    await settled();
    assert.deepEqual(recorded, [
      ["a", 1],
      ["a", 4],
    ]);
    fail = true;
    answer();
    await settled();
    await turn();
    fail = false;
    answer();
    await settled();
    assert.deepEqual(recorded.at(-1), ["a", 2]);
  });
});

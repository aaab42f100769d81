import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { countFailuresBeforeJoin } from "../base/node-trust-thresholds.ts";
import type { AttemptFailure } from "../dispatch/running-attempt.ts";
import { type QuarantineVerdict, ReliabilityRecord } from "./reliability.ts";

/** Records consecutive jobs of one second each. */
function inTurn(failures: (AttemptFailure | null)[]): (QuarantineVerdict | undefined)[] {
  const record = new ReliabilityRecord();
  return failures.map((failure, i) => record.note({ failure, offeredAt: i * 1000, endedAt: i * 1000 + 999 }));
}

describe("the reliability record of a node", () => {
  test("quarantines a node with five failures of any kind in twenty jobs", () => {
    const verdicts = inTurn(["engine", null, "agent", null, "protocol", "silent", "lost"]);
    assert.deepEqual(verdicts.slice(0, 6), Array(6).fill(undefined));
    assert.deepEqual(verdicts[6], {
      reason: "failures",
      evidence: { jobs: 7, failures: 5, kinds: { engine: 1, agent: 1, protocol: 1, silent: 1, lost: 1 } },
    });
  });

  test("accepts four failures in every twenty jobs indefinitely", () => {
    const jobs = Array.from({ length: 200 }, (_, i): AttemptFailure | null => (i % 5 === 0 ? "engine" : null));
    assert.ok(inTurn(jobs).every((verdict) => verdict === undefined));
    const record = new ReliabilityRecord();
    for (const [i, failure] of jobs.entries()) record.note({ failure, offeredAt: i, endedAt: i });
    assert.deepEqual(record.count(), { jobs: 20, failures: 4 });
  });

  test("excuses stalls during a given outage of the plane, and no other failure", () => {
    const record = new ReliabilityRecord();
    for (const [i, failure] of (["silent", null, "engine", "silent", "lost"] as const).entries())
      record.note({ failure, offeredAt: i * 1000, endedAt: i * 1000 + 999 });
    record.forgive({ from: 2_000, until: 9_999_999 });
    assert.deepEqual(record.count(), { jobs: 3, failures: 2 });
  });

  test("counts one failure for all jobs in flight when a node's connection ends", () => {
    const record = new ReliabilityRecord();
    for (let i = 0; i < 50; i++) {
      assert.equal(record.note({ failure: "lost", offeredAt: i, endedAt: 2000 + i }), undefined);
    }
    assert.deepEqual(record.count(), { jobs: 1, failures: 1 });
    record.note({ failure: "lost", offeredAt: 3000, endedAt: 5000 });
    assert.deepEqual(record.count(), { jobs: 2, failures: 2 });
  });

  test("counts one failure per request that stalls on a node, however often the request was tried there", () => {
    const record = new ReliabilityRecord();
    const silent = (request: number, attempt: string) =>
      record.note({ job: `${request}`.padStart(26, "0") + attempt, failure: "silent", offeredAt: 0, endedAt: 2000 });
    for (let request = 1; request <= 4; request++) {
      for (const attempt of ["-01", "-02"]) assert.equal(silent(request, attempt), undefined);
    }
    assert.deepEqual(record.count(), { jobs: 4, failures: 4 });
    assert.equal(silent(5, "-01")?.reason, "failures");
  });

  test("counts failures of the last day until twenty new jobs replace them; these failures alone do not quarantine a node", () => {
    const record = new ReliabilityRecord();
    const host = { answers: 0, failures: 500, silences: 0 };
    record.carry(countFailuresBeforeJoin({ own: host, host }));
    assert.deepEqual(record.count(), { jobs: 4, failures: 4 });
    for (let i = 0; i < 18; i++) record.note({ failure: null, offeredAt: i, endedAt: i });
    assert.deepEqual(record.count(), { jobs: 20, failures: 2 });
    for (const [answers, failures, carried] of [
      [1_000, 30, 0],
      [80, 20, 4],
      [90, 10, 2],
      [0, 3, 3],
    ] as const) {
      const [seen, none] = [
        { answers, failures, silences: 0 },
        { answers, failures: 0, silences: 0 },
      ];
      assert.equal(countFailuresBeforeJoin({ own: seen, host: none }), carried);
      assert.equal(countFailuresBeforeJoin({ own: none, host: seen }), carried);
    }
  });

  test("excuses a prompt that the engine refuses, unless refusals are frequent", () => {
    const verdicts = inTurn(Array(10).fill("prompt"));
    assert.deepEqual(verdicts.slice(0, 9), Array(9).fill(undefined));
    assert.equal(verdicts[9]?.reason, "refused_prompts");
  });

  test("never counts refusals of prompts that fill three quarters of the context or more", () => {
    const record = new ReliabilityRecord();
    for (let i = 0; i < 100; i++) {
      const origin = { accountId: `builder ${i}`, contextPart: i % 2 === 0 ? 0.75 : 1 };
      assert.equal(record.note({ failure: "prompt", offeredAt: i, endedAt: i, origin }), undefined);
    }
    assert.deepEqual(record.count(), { jobs: 0, failures: 0 });
  });

  test("counts at most three refusals of one builder", () => {
    const record = new ReliabilityRecord();
    const refuse = (accountId: string): QuarantineVerdict | undefined =>
      record.note({ failure: "prompt", offeredAt: 0, endedAt: 0, origin: { accountId, contextPart: 0.5 } });
    for (let i = 0; i < 100; i++) assert.equal(refuse("one"), undefined);
    for (const builder of ["two", "three"]) for (let i = 0; i < 100; i++) assert.equal(refuse(builder), undefined);
    assert.equal(refuse("four")?.reason, "refused_prompts");
  });

  test("counts a miss (a job without output) as a failure, marks verdicts that depend on misses, and can drop misses", () => {
    const record = new ReliabilityRecord();
    const note = (failure: AttemptFailure | null): QuarantineVerdict | undefined =>
      record.note({ failure, offeredAt: 0, endedAt: 0 });
    for (const failure of ["engine", "miss", null, "miss", "engine"] as const) assert.equal(note(failure), undefined);
    assert.deepEqual(note("miss")?.evidence, { jobs: 6, failures: 5, kinds: { engine: 2, miss: 3 } });
    assert.equal(record.restsOnMisses, true);
    record.forgetMisses(0);
    assert.deepEqual(record.count(), { jobs: 3, failures: 2 });
    for (let i = 0; i < 3; i++) note("engine");
    assert.equal(record.restsOnMisses, false);
  });
});

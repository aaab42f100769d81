import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { chooseCutPositions, drawNextCheckTimeMs, isDrawnForCheck, SAMPLING } from "./sampling.ts";
import { createSeededRandom } from "./testing.ts";

const KNOWN = { answers: 5000, suspected: false, dueAt: Number.POSITIVE_INFINITY };

function share(node: Parameters<typeof isDrawnForCheck>[0]): number {
  const u = createSeededRandom(1);
  let drawn = 0;
  for (let i = 0; i < 200_000; i++) if (isDrawnForCheck(node, { now: 0, roll: u() })) drawn += 1;
  return drawn / 200_000;
}

describe("the sampling of answers for spot checks", () => {
  test("draws one in 100 answers of an established node", () => assert.ok(Math.abs(share(KNOWN) - 0.01) < 0.001));
  test("draws one in five of a node's first 200 answers", () => {
    assert.ok(Math.abs(share({ ...KNOWN, answers: 199 }) - 0.2) < 0.005);
    assert.ok(Math.abs(share({ ...KNOWN, answers: 200 }) - 0.2) < 0.005);
  });
  test("lowers the rate gradually until 4,000 answers", () => {
    assert.ok(Math.abs(share({ ...KNOWN, answers: 1000 }) - 0.04) < 0.002);
    assert.ok(Math.abs(share({ ...KNOWN, answers: 4000 }) - 0.01) < 0.001);
  });
  test("draws one in five answers of a suspected node", () =>
    assert.ok(Math.abs(share({ ...KNOWN, suspected: true }) - 0.2) < 0.005));
  test("draws the first answer after a scheduled check is due", () => {
    assert.equal(isDrawnForCheck({ ...KNOWN, dueAt: 10 }, { now: 9, roll: 0.99 }), false);
    assert.equal(isDrawnForCheck({ ...KNOWN, dueAt: 10 }, { now: 10, roll: 0.99 }), true);
  });
  test("schedules the next check within the hour, at a time that nodes cannot predict", () => {
    assert.equal(drawNextCheckTimeMs(0, 0), SAMPLING.everyMs / 2);
    assert.ok(drawNextCheckTimeMs(0, 0.999) <= SAMPLING.everyMs);
  });
});

describe("the positions at which an answer is cut for a check", () => {
  test("are distinct, ascending, at the start of words, and include the start of the answer", () => {
    const answer = "It is a long answer, with 12 words  and two\nlines of them.";
    const cuts = chooseCutPositions(answer, 8, createSeededRandom(2));
    assert.equal(cuts.length, 8);
    assert.equal(cuts[0], 0);
    assert.deepEqual(
      cuts,
      [...new Set(cuts)].sort((a, b) => a - b),
    );
    for (const cut of cuts.slice(1)) assert.match(answer.slice(cut), /^\s+\S/);
  });
  test("are fewer for a short answer", () =>
    assert.deepEqual(chooseCutPositions("Yes.", 8, createSeededRandom(3)), [0]));
});

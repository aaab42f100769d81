import assert from "node:assert/strict";
import { test } from "node:test";
import { READ_PAUSE_MS, ReadBatcher, shouldPauseReading } from "./read-batcher.ts";

test("pauses reading after an event-loop turn in which fewer than half of eight or more open answers had data", () => {
  const table: [answers: number, reads: number, rests: boolean][] = [
    [1, 1, false],
    [7, 1, false],
    [8, 1, true],
    [8, 3, true],
    [8, 4, false],
    [64, 1, true],
    [64, 31, true],
    [64, 32, false],
    [64, 64, false],
    [64, 200, false],
  ];
  for (const [answers, reads, rests] of table)
    assert.equal(shouldPauseReading({ answers, reads }), rests, `${reads} reads of ${answers} answers`);
});

test("pauses reading once per event-loop turn, after all other tasks, and only while many answers are open", () => {
  const turn: (() => void)[] = [];
  const did: string[] = [];
  const endTurn = (): void => {
    for (const task of turn.splice(0)) task();
  };
  const gather = new ReadBatcher({ soon: (task) => turn.push(task) }, (ms) => did.push(`rests ${ms} ms`));
  const ends = Array.from({ length: 8 }, () => gather.begin());
  turn.push(() => did.push("sends"));
  gather.read();
  gather.read();
  endTurn();
  assert.deepEqual(did.splice(0), ["sends", `rests ${READ_PAUSE_MS} ms`]);
  for (let i = 0; i < 8; i++) gather.read();
  endTurn();
  assert.deepEqual(did, []);
  ends.pop()?.();
  gather.read();
  endTurn();
  assert.deepEqual([did, turn], [[], []]);
});
